package dialect

import "math"

// NVIDIA Onyx (MLNX-OS) counts ECN in kilobytes and buffers in bytes (the mellanox.onyx modules;
// guides that quote Mellanox's community pages). Its ECN has no probability.
var _ = register(&Dialect{
	Name: "onyx", Title: "NVIDIA Onyx", render: renderOnyx,
	parse: lineParser(
		`^interface ethernet (?P<interface>\S+) traffic-class (?P<queue>\d) `+
			`congestion-control ecn minimum-absolute (?P<kmin_k>\d+) `+
			`maximum-absolute (?P<kmax_k>\d+)$`,
		`^dcb priority-flow-control priority (?P<priority>\d) enable$`,
		`reserved (?P<both_b>\d+) xoff (?P<xoff_b>\d+) xon \d+ `+
			`shared alpha (?P<alpha>\d+(?:/\d+)?)$`,
	),
})

// onyxXOFF is the part of its reserve that a priority group fills before it pauses: the guides' two
// jumbo frames. The rest is headroom.
const onyxXOFF = 18_432

func renderOnyx(s *builder) {
	kmin := s.inUnits("Kmin", &s.effective.Kmin, kilobyte, 1, math.MaxInt32)
	kmax := s.inUnits("Kmax", &s.effective.Kmax, kilobyte, 2, math.MaxInt32)
	if s.XOFF > 0 {
		s.fail("XOFF %v: a static threshold above the reserve is not supported; want alpha", s.XOFF)
		return
	}
	if len(s.Interfaces) == 0 {
		s.fail("no interfaces: Onyx configures watermarks per interface")
	}
	headroom := s.inCells("headroom", &s.effective.Headroom)
	s.line("dcb priority-flow-control enable force")
	s.line("dcb priority-flow-control priority %d enable", s.Priority)
	s.line("advanced buffer management force")
	s.undoLine("no dcb priority-flow-control priority %d enable", s.Priority)
	for _, i := range s.Interfaces {
		s.line("interface ethernet %s traffic-class %d congestion-control ecn minimum-absolute "+
			"%d maximum-absolute %d", i, s.Queue, kmin, kmax)
		s.line("interface ethernet %s dcb priority-flow-control mode on force", i)
		s.line("interface ethernet %s qos trust L3", i)
		s.line("interface ethernet %s ingress-buffer iPort.pg%d bind switch-priority %d", i,
			s.Priority, s.Priority)
		s.line("interface ethernet %s ingress-buffer iPort.pg%d map pool iPool1 type lossless "+
			"reserved %d xoff %d xon %d shared alpha %v",
			i, s.Priority, headroom+onyxXOFF, onyxXOFF, onyxXOFF, s.Alpha)
		s.undoLine("no interface ethernet %s traffic-class %d congestion-control", i, s.Queue)
		s.undoLine("no interface ethernet %s dcb priority-flow-control mode", i)
		s.undoLine("no interface ethernet %s ingress-buffer iPort.pg%d", i, s.Priority)
	}
	s.omit("pmax", "Onyx marks every packet above the maximum; its probability is not configurable")
	s.omitOptional("xon_offset", s.XONOffset)
	s.omitOptional("guaranteed", s.Guaranteed)
	s.warn("pool iPool1 must exist (pool iPool1 size BYTES type dynamic)")
}
