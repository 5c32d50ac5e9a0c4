package intent

import (
	"fmt"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// Intent is what the switches of one layer are to do with one lossless priority.
type Intent struct {
	Name  string
	Model string // of the switch, where a dialect has to know it
	Chip  Chip

	bytetuning.Watermark
	// XOFF, unless 0, is a fixed level at which PFC pauses, in place of Alpha.
	XOFF units.Bytes
	// XONOffset is how far the queue has to fall below XOFF before the pause ends; 0 is the
	// switch's default.
	XONOffset units.Bytes
	// Guaranteed is the part of the buffer that nobody else may take.
	Guaranteed units.Bytes

	Priority, Queue int
	Interfaces      []string

	Traffic  Traffic
	Upstream Upstream
	Lossy    *Lossy
}

// Chip is what is known of a switch's memory. Zeroes are unknown.
type Chip struct {
	Cell   units.Bytes // thresholds are whole cells
	Buffer units.Bytes // shared by all ports
	Ports  int         // with a headroom each
	Egress units.Bytes // the most that one egress queue may hold
}

// Traffic is what the switches have to carry. Zeroes are unknown.
type Traffic struct {
	Senders int // ingress ports that send to one egress port at once
}

// Upstream is the switches that send to these.
type Upstream struct{ NoPFC bool }

// Lossy is a class without PFC, such as TCP's, in the same buffer.
type Lossy struct {
	Alpha bytetuning.Alpha
	Kmax  units.Bytes // above it WRED drops all; 0 is no WRED
}

// Layer answers the intent's chip as a layer of package bytetuning, which has no search space.
func (i *Intent) Layer() bytetuning.Layer {
	return bytetuning.Layer{Name: i.Name, Buffer: i.Chip.Buffer, Ports: i.Chip.Ports}
}

// PausesAt answers the queue at which a single congested ingress port pauses, 0 when it is not
// known.
func (i *Intent) PausesAt() units.Bytes {
	if i.XOFF > 0 {
		return i.XOFF
	}
	l := i.Layer()
	return l.XOFF(i.Watermark)
}

// Validate says what no switch may be told. What cannot be compared, because the intent does not
// say how large the buffer is, is a warning.
func (i *Intent) Validate() (warnings []string, err error) {
	if i.Name == "" {
		return nil, fmt.Errorf("intent: a layer has no name")
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("intent: %s: %w", i.Name, fmt.Errorf(format, args...))
	}
	for _, p := range []struct {
		name string
		v    int
	}{{"priority", i.Priority}, {"queue", i.Queue}} {
		if p.v < 0 || p.v > 7 {
			return nil, wrong("%s %d: want 0 to 7", p.name, p.v)
		}
	}
	for _, b := range []struct {
		name string
		v    units.Bytes
	}{{"xoff", i.XOFF}, {"xon_offset", i.XONOffset}, {"guaranteed", i.Guaranteed},
		{"cell", i.Chip.Cell}, {"buffer", i.Chip.Buffer}, {"egress", i.Chip.Egress}} {
		if b.v < 0 || b.v > units.GiB {
			return nil, wrong("%s %v: want 0 to 1GiB", b.name, b.v)
		}
	}
	if i.Chip.Ports < 0 || i.Chip.Ports > 1024 {
		return nil, wrong("%d ports: want 0 to 1024", i.Chip.Ports)
	}
	if i.Headroom > units.GiB || i.Kmax > units.GiB {
		return nil, wrong("Kmax %v, headroom %v: want 1GiB at most", i.Kmax, i.Headroom)
	}
	if err := i.Watermark.Validate(); err != nil {
		return nil, wrong("%w", err)
	}
	if i.Chip.Buffer > 0 {
		if taken := units.Bytes(max(1, i.Chip.Ports)) * (i.Headroom + i.Guaranteed); taken >=
			i.Chip.Buffer {
			return nil, wrong("headroom and guarantee of %d ports, %v, leave nothing of the "+
				"buffer, %v", max(1, i.Chip.Ports), taken, i.Chip.Buffer)
		}
	}
	switch xoff := i.PausesAt(); {
	case xoff == 0:
		warnings = append(warnings, fmt.Sprintf("%s: the buffer is not known: Kmax %v cannot be "+
			"compared with XOFF (alpha %v)", i.Name, i.Kmax, i.Alpha))
	case i.Kmax >= xoff:
		return nil, wrong("Kmax %v is not below XOFF, %v: PFC would come before ECN (case I)",
			i.Kmax, xoff)
	case i.XONOffset > xoff:
		return nil, wrong("xon_offset %v: want XOFF, %v, at most", i.XONOffset, xoff)
	}
	return warnings, nil
}
