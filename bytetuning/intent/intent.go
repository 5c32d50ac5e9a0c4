package intent

import (
	"fmt"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// Intent is the intended configuration of one lossless priority on the switches of one layer.
type Intent struct {
	Name  string
	Model string // of the switch, for dialects that depend on it
	Chip  Chip

	bytetuning.Watermark
	// XOFF, unless 0, is a static PFC threshold, which replaces Alpha.
	XOFF units.Bytes
	// XONOffset is the distance below XOFF at which a pause ends; 0 means the switch's default.
	XONOffset units.Bytes
	// Guaranteed is the reserved part of the buffer.
	Guaranteed units.Bytes

	Priority, Queue int
	Interfaces      []string

	Traffic  Traffic
	Upstream Upstream
	Lossy    *Lossy
}

// Chip describes a switch's packet memory. Zero means unknown.
type Chip struct {
	Cell   units.Bytes // allocation unit: thresholds are whole cells
	Buffer units.Bytes // shared by all ports
	Ports  int         // ports with headroom
	Egress units.Bytes // maximum size of one egress queue
}

// Traffic describes the load. Zero means unknown.
type Traffic struct {
	Senders int // ingress ports that send to one egress port at once
}

// Upstream describes the switches that send to these.
type Upstream struct{ NoPFC bool }

// Lossy is a class without PFC in the same buffer, such as TCP's.
type Lossy struct {
	Alpha bytetuning.Alpha
	Kmax  units.Bytes // above it WRED drops every packet; 0 means no WRED
}

// Layer returns the intent's chip as a layer without a search space.
func (i *Intent) Layer() bytetuning.Layer {
	return bytetuning.Layer{Name: i.Name, Buffer: i.Chip.Buffer, Ports: i.Chip.Ports}
}

// PauseThreshold returns the queue length at which a single congested ingress port pauses its peer,
// or 0 if it is unknown.
func (i *Intent) PauseThreshold() units.Bytes {
	if i.XOFF > 0 {
		return i.XOFF
	}
	l := i.Layer()
	return l.XOFF(i.Watermark)
}

// Validate returns an error if the intent is invalid on every switch. If the buffer size is
// unknown, a warning says which comparison was left out.
func (i *Intent) Validate() (warnings []string, err error) {
	if i.Name == "" {
		return nil, fmt.Errorf("intent: a layer without a name")
	}
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("intent: %s: %w", i.Name, fmt.Errorf(format, args...))
	}
	for _, p := range []struct {
		name string
		v    int
	}{{"priority", i.Priority}, {"queue", i.Queue}} {
		if p.v < 0 || p.v > 7 {
			return nil, invalid("%s %d: want 0 to 7", p.name, p.v)
		}
	}
	for _, b := range []struct {
		name string
		v    units.Bytes
	}{{"xoff", i.XOFF}, {"xon_offset", i.XONOffset}, {"guaranteed", i.Guaranteed},
		{"cell", i.Chip.Cell}, {"buffer", i.Chip.Buffer}, {"egress", i.Chip.Egress}} {
		if b.v < 0 || b.v > units.GiB {
			return nil, invalid("%s %v: want 0 to 1GiB", b.name, b.v)
		}
	}
	if i.Chip.Ports < 0 || i.Chip.Ports > 1024 {
		return nil, invalid("%d ports: want 0 to 1024", i.Chip.Ports)
	}
	if i.Headroom > units.GiB || i.Kmax > units.GiB {
		return nil, invalid("Kmax %v, headroom %v: want at most 1GiB", i.Kmax, i.Headroom)
	}
	if err := i.Watermark.Validate(); err != nil {
		return nil, invalid("%w", err)
	}
	if i.Chip.Buffer > 0 {
		if used := units.Bytes(max(1, i.Chip.Ports)) * (i.Headroom + i.Guaranteed); used >=
			i.Chip.Buffer {
			return nil, invalid("headroom and guarantee of %d ports, %v, leave nothing of the "+
				"%v buffer", max(1, i.Chip.Ports), used, i.Chip.Buffer)
		}
	}
	switch xoff := i.PauseThreshold(); {
	case xoff == 0:
		warnings = append(warnings, fmt.Sprintf("%s: unknown buffer size: Kmax %v cannot be "+
			"compared with XOFF (alpha %v)", i.Name, i.Kmax, i.Alpha))
	case i.Kmax >= xoff:
		return nil, invalid("Kmax %v is not below XOFF, %v: PFC would act before ECN (case I)",
			i.Kmax, xoff)
	case i.XONOffset > xoff:
		return nil, invalid("xon_offset %v: want at most XOFF, %v", i.XONOffset, xoff)
	}
	return warnings, nil
}
