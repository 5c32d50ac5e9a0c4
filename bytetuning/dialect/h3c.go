package dialect

import "github.com/goroce/goroce/bytetuning"

// H3C Comware: cells (public configurations; the technical reference they quote). dynamic is a per
// cent that the chip maps to α.
var _ = register(&Dialect{
	Name: "h3c", Title: "H3C Comware", render: renderH3C,
	parse: lineParser(
		`^qos wred queue table (?P<name>\S+)$`,
		`^ queue (?P<queue>\d) drop-level \d low-limit (?P<kmin_c>\d+) high-limit (?P<kmax_c>\d+) discard-probability (?P<pmax>\d+)$`,
		`^interface (?P<interface>\S+)$`,
		`^ priority-flow-control no-drop dot1p (?P<priority>\d)$`,
		`^ priority-flow-control dot1p \d ingress-buffer dynamic (?P<ratio>\d+)$`,
		`^ priority-flow-control dot1p \d ingress-buffer static (?P<xoff_c>\d+)$`,
		`^ priority-flow-control dot1p \d headroom (?P<headroom_c>\d+)$`,
		`^ priority-flow-control dot1p \d reserved-buffer (?P<guaranteed_c>\d+)$`,
		`^ priority-flow-control dot1p \d ingress-threshold-offset (?P<xon_c>\d+)$`,
	),
})

// h3cClasses are the upper ends of the per cents that mean 1/128, 1/64, .. 8: α/(1+α), but for the
// lowest ones.
var h3cClasses = [...]int{0, 1, 3, 5, 11, 20, 33, 50, 66, 80, 100}

// h3cAlpha answers what a per cent means.
func h3cAlpha(percent int) (bytetuning.Alpha, bool) {
	if percent < 0 {
		return 0, false
	}
	for i, upper := range h3cClasses {
		if percent <= upper {
			return bytetuning.LeastAlpha + bytetuning.Alpha(i), true
		}
	}
	return 0, false
}

// H3CAlpha answers what the per cent of ingress-buffer dynamic means.
func H3CAlpha(percent int) (bytetuning.Alpha, bool) { return h3cAlpha(percent) }

func renderH3C(s *sheet) {
	const most = 38_000 // cells; depends on the model
	if s.Chip.Cell == 0 {
		s.refuse("thresholds are cells: how large is one? (chip: {cell})")
		return
	}
	p, cell := s.profile(), s.Chip.Cell
	kmin := s.in("Kmin", &s.got.Kmin, cell, 0, most)
	kmax := s.in("Kmax", &s.got.Kmax, cell, 0, most)
	headroom := s.in("headroom", &s.got.Headroom, cell, 0, most)
	s.line("system-view")
	s.line("qos wred queue table %s", p)
	for level := range 3 {
		s.line(" queue %d drop-level %d low-limit %d high-limit %d discard-probability %d", s.Queue,
			level, kmin, kmax, s.Pmax)
	}
	s.line(" queue %d weighting-constant 0", s.Queue)
	s.line(" queue %d ecn", s.Queue)
	s.undone("system-view")
	for _, i := range s.Interfaces {
		s.line("interface %s", i)
		s.line(" qos trust dscp")
		s.line(" qos wred apply %s", p)
		s.line(" priority-flow-control enable")
		s.line(" priority-flow-control no-drop dot1p %d", s.Priority)
		if s.XOFF > 0 {
			s.line(" priority-flow-control dot1p %d ingress-buffer static %d", s.Priority,
				s.in("XOFF", &s.got.XOFF, cell, 0, most))
		} else {
			s.line(" priority-flow-control dot1p %d ingress-buffer dynamic %d", s.Priority,
				h3cClasses[s.Alpha-bytetuning.LeastAlpha])
		}
		s.line(" priority-flow-control dot1p %d headroom %d", s.Priority, headroom)
		s.undone("interface %s", i)
		s.undone(" undo qos wred apply")
		s.undone(" undo priority-flow-control no-drop dot1p %d", s.Priority)
		s.undone(" undo priority-flow-control dot1p %d ingress-buffer", s.Priority)
		s.undone(" undo priority-flow-control dot1p %d headroom", s.Priority)
		if s.Guaranteed > 0 {
			s.line(" priority-flow-control dot1p %d reserved-buffer %d", s.Priority,
				s.in("guaranteed", &s.got.Guaranteed, cell, 0, most))
			s.undone(" undo priority-flow-control dot1p %d reserved-buffer", s.Priority)
		}
		if s.XONOffset > 0 {
			s.line(" priority-flow-control dot1p %d ingress-threshold-offset %d", s.Priority,
				s.in("xon_offset", &s.got.XONOffset, cell, 0, most))
			s.undone(" undo priority-flow-control dot1p %d ingress-threshold-offset", s.Priority)
		}
		s.line(" priority-flow-control deadlock enable")
	}
	s.undone("undo qos wred queue table %s", p)
	s.warn("one translated manual says that a larger discard-probability drops less; its own " +
		"example has it as per cent: look at a marked queue once")
}
