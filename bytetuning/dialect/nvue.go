package dialect

// NVIDIA Cumulus Linux 5, NVUE, counts in bytes (NVUE reference). Vendor and paper recommend to
// leave XOFF to the switch; it is set only if the intent has a static one.
var _ = register(&Dialect{
	Name: "nvue", Title: "NVIDIA Cumulus NVUE", render: renderNVUE,
	parse: lineParser(
		`^nv set qos congestion-control (?P<name>\S+) traffic-class (?P<queue>\d) `+
			`min-threshold (?P<kmin_b>\d+)$`,
		`^nv set qos congestion-control \S+ traffic-class \d max-threshold (?P<kmax_b>\d+)$`,
		`^nv set qos congestion-control \S+ traffic-class \d probability (?P<pmax>\d+)$`,
		`^nv set interface (?P<interface>\S+) qos`,
		`^nv set qos pfc \S+ switch-priority (?P<priority>\d)$`,
		`^nv set qos pfc \S+ xoff-threshold (?P<xoff_b>\d+)$`,
		`^nv set qos pfc \S+ xon-threshold (?P<resume_b>\d+)$`,
		`^nv set qos pfc \S+ port-buffer (?P<headroom_b>\d+)$`,
	),
})

func renderNVUE(s *builder) {
	p := s.profileName()
	ecn := "nv set qos congestion-control " + p
	s.line("%s traffic-class %d ecn enable", ecn, s.Queue)
	kmin, kmax := s.inCells("Kmin", &s.effective.Kmin), s.inCells("Kmax", &s.effective.Kmax)
	s.line("%s traffic-class %d min-threshold %d", ecn, s.Queue, kmin)
	s.line("%s traffic-class %d max-threshold %d", ecn, s.Queue, kmax)
	s.line("%s traffic-class %d probability %d", ecn, s.Queue, s.Pmax)
	pfc := "nv set qos pfc " + p
	s.line("%s switch-priority %d", pfc, s.Priority)
	if s.XOFF > 0 {
		xoff := s.inCells("XOFF", &s.effective.XOFF)
		s.line("%s xoff-threshold %d", pfc, xoff)
		if s.XONOffset > 0 {
			offset := s.inCells("xon_offset", &s.effective.XONOffset)
			s.line("%s xon-threshold %d", pfc, max(0, xoff-offset))
		}
	} else {
		s.omitOptional("xon_offset", s.XONOffset)
		s.omit("alpha", "only one of NVUE's names for values of α is documented")
	}
	s.omitOptional("guaranteed", s.Guaranteed)
	s.line("%s port-buffer %d", pfc, s.inCells("headroom", &s.effective.Headroom))
	s.line("%s tx enable", pfc)
	for _, i := range s.Interfaces {
		s.line("nv set interface %s qos congestion-control profile %s", i, p)
		s.line("nv set interface %s qos pfc profile %s", i, p)
		s.undoLine("nv unset interface %s qos congestion-control profile", i)
		s.undoLine("nv unset interface %s qos pfc profile", i)
	}
	s.line("nv config apply")
	s.undoLine("nv unset qos congestion-control %s", p)
	s.undoLine("nv unset qos pfc %s", p)
	s.undoLine("nv config apply")
}
