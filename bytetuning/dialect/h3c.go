package dialect

import "github.com/goroce/goroce/bytetuning"

// H3C Comware counts in cells (published configurations and the technical reference they quote).
// The dynamic threshold is a percentage that the chip maps to α.
var _ = register(&Dialect{
	Name: "h3c", Title: "H3C Comware", render: renderH3C,
	parse: lineParser(
		`^qos wred queue table (?P<name>\S+)$`,
		`^ queue (?P<queue>\d) drop-level \d low-limit (?P<kmin_c>\d+) `+
			`high-limit (?P<kmax_c>\d+) discard-probability (?P<pmax>\d+)$`,
		`^interface (?P<interface>\S+)$`,
		`^ priority-flow-control no-drop dot1p (?P<priority>\d)$`,
		`^ priority-flow-control dot1p \d ingress-buffer dynamic (?P<ratio>\d+)$`,
		`^ priority-flow-control dot1p \d ingress-buffer static (?P<xoff_c>\d+)$`,
		`^ priority-flow-control dot1p \d headroom (?P<headroom_c>\d+)$`,
		`^ priority-flow-control dot1p \d reserved-buffer (?P<guaranteed_c>\d+)$`,
		`^ priority-flow-control dot1p \d ingress-threshold-offset (?P<xon_c>\d+)$`,
	),
})

// h3cClasses are the upper ends of the percentage ranges for α of 1/128, 1/64, … 8. They are
// α/(1+α), except for the lowest ones.
var h3cClasses = [...]int{0, 1, 3, 5, 11, 20, 33, 50, 66, 80, 100}

// h3cAlpha returns the α of a percentage. It reports false for a negative one or one above 100.
func h3cAlpha(percent int) (bytetuning.Alpha, bool) {
	if percent < 0 {
		return 0, false
	}
	for i, upper := range h3cClasses {
		if percent <= upper {
			return bytetuning.MinAlpha + bytetuning.Alpha(i), true
		}
	}
	return 0, false
}

// H3CAlpha returns the α of a percentage of "ingress-buffer dynamic", and false if it is out of
// range.
func H3CAlpha(percent int) (bytetuning.Alpha, bool) { return h3cAlpha(percent) }

func renderH3C(s *builder) {
	const most = 38_000 // cells; depends on the model
	if s.Chip.Cell == 0 {
		s.fail("thresholds are in cells: want the cell size (chip: {cell})")
		return
	}
	p, cell := s.profileName(), s.Chip.Cell
	kmin := s.inUnits("Kmin", &s.effective.Kmin, cell, 0, most)
	kmax := s.inUnits("Kmax", &s.effective.Kmax, cell, 0, most)
	headroom := s.inUnits("headroom", &s.effective.Headroom, cell, 0, most)
	s.line("system-view")
	s.line("qos wred queue table %s", p)
	for level := range 3 {
		s.line(" queue %d drop-level %d low-limit %d high-limit %d discard-probability %d", s.Queue,
			level, kmin, kmax, s.Pmax)
	}
	s.line(" queue %d weighting-constant 0", s.Queue)
	s.line(" queue %d ecn", s.Queue)
	s.undoLine("system-view")
	for _, i := range s.Interfaces {
		s.line("interface %s", i)
		s.line(" qos trust dscp")
		s.line(" qos wred apply %s", p)
		s.line(" priority-flow-control enable")
		s.line(" priority-flow-control no-drop dot1p %d", s.Priority)
		if s.XOFF > 0 {
			s.line(" priority-flow-control dot1p %d ingress-buffer static %d", s.Priority,
				s.inUnits("XOFF", &s.effective.XOFF, cell, 0, most))
		} else {
			s.line(" priority-flow-control dot1p %d ingress-buffer dynamic %d", s.Priority,
				h3cClasses[s.Alpha-bytetuning.MinAlpha])
		}
		s.line(" priority-flow-control dot1p %d headroom %d", s.Priority, headroom)
		s.undoLine("interface %s", i)
		s.undoLine(" undo qos wred apply")
		s.undoLine(" undo priority-flow-control no-drop dot1p %d", s.Priority)
		s.undoLine(" undo priority-flow-control dot1p %d ingress-buffer", s.Priority)
		s.undoLine(" undo priority-flow-control dot1p %d headroom", s.Priority)
		if s.Guaranteed > 0 {
			s.line(" priority-flow-control dot1p %d reserved-buffer %d", s.Priority,
				s.inUnits("guaranteed", &s.effective.Guaranteed, cell, 0, most))
			s.undoLine(" undo priority-flow-control dot1p %d reserved-buffer", s.Priority)
		}
		if s.XONOffset > 0 {
			s.line(" priority-flow-control dot1p %d ingress-threshold-offset %d", s.Priority,
				s.inUnits("xon_offset", &s.effective.XONOffset, cell, 0, most))
			s.undoLine(" undo priority-flow-control dot1p %d ingress-threshold-offset", s.Priority)
		}
		s.line(" priority-flow-control deadlock enable")
	}
	s.undoLine("undo qos wred queue table %s", p)
	s.warn("a translated manual says that a larger discard-probability drops less, but its " +
		"example uses it as a percentage: check the marking of a queue")
}
