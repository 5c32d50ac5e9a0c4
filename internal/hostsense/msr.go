package hostsense

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/goroce/goroce/units"
)

// MSR reads a model-specific register of a processor.
func (h *Host) MSR(cpu int, register int64) (uint64, error) {
	what := fmt.Sprintf("MSR %#x", register)
	f, err := os.Open(h.path(fmt.Sprintf("dev/cpu/%d/msr", cpu)))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, &Absent{what, fmt.Sprintf("/dev/cpu/%d/msr does not exist (the msr module, or "+
			"a virtual machine)", cpu)}
	case errors.Is(err, os.ErrPermission):
		return 0, &Absent{what, "not permitted: " + err.Error()}
	case err != nil:
		return 0, fmt.Errorf("hostsense: %s: %w", what, err)
	}
	defer f.Close()
	var b [8]byte
	if _, err := f.ReadAt(b[:], register); err != nil { // EIO: the processor has no such register
		return 0, &Absent{what, "the processor refuses: " + err.Error()}
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// The counters that hostCC reads on Cascade Lake (family 6, model 85), of the first stack of the
// I/O controller; others follow at strides of 0x20.
const (
	msrIRPOccupancy = 0xa59
	iioStride       = 0x20
	irpCycle        = 2 * units.Nanosecond // of its clock of 500 MHz

	cascadeLakeFamily, cascadeLakeModel = 6, 85
)

// IIOOccupancy samples how many cache lines wait in the I/O controller of a stack to be written to
// memory, on average since the sample before. The counter is to be set up already (hostCC: MSR
// 0xa5b); this package writes no MSR.
func (h *Host) IIOOccupancy(cpu, stack int) (Sampler, error) {
	c, err := h.CPU()
	if err != nil {
		return nil, err
	}
	if c.Vendor != "GenuineIntel" || c.Family != cascadeLakeFamily || c.Model != cascadeLakeModel {
		return nil, &Absent{"IIO occupancy", fmt.Sprintf("its counters are known of Intel's "+
			"family 6 model 85 only, this is %s family %d model %d", c.Vendor, c.Family, c.Model)}
	}
	register := int64(msrIRPOccupancy + stack*iioStride)
	last, err := h.MSR(cpu, register)
	if err != nil {
		return nil, err
	}
	var at units.Time
	began := false
	return func(now units.Time) (float64, bool) {
		n, err := h.MSR(cpu, register)
		if err != nil {
			return 0, false
		}
		grown, cycles, first := n-last, now.Sub(at)/irpCycle, !began
		last, at, began = n, now, true
		if first || cycles <= 0 {
			return 0, false
		}
		return float64(grown) / float64(cycles), true
	}, nil
}
