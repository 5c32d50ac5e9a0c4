package dialect

// NVIDIA Cumulus Linux 5, NVUE: bytes (NVUE reference). Vendor and paper agree that XOFF is better
// left to the switch; it is set only where the intent has a fixed one.
var _ = register(&Dialect{
	Name: "nvue", Title: "NVIDIA Cumulus NVUE", render: renderNVUE,
	parse: lineParser(
		`^nv set qos congestion-control (?P<name>\S+) traffic-class (?P<queue>\d) min-threshold (?P<kmin_b>\d+)$`,
		`^nv set qos congestion-control \S+ traffic-class \d max-threshold (?P<kmax_b>\d+)$`,
		`^nv set qos congestion-control \S+ traffic-class \d probability (?P<pmax>\d+)$`,
		`^nv set interface (?P<interface>\S+) qos`,
		`^nv set qos pfc \S+ switch-priority (?P<priority>\d)$`,
		`^nv set qos pfc \S+ xoff-threshold (?P<xoff_b>\d+)$`,
		`^nv set qos pfc \S+ xon-threshold (?P<resume_b>\d+)$`,
		`^nv set qos pfc \S+ port-buffer (?P<headroom_b>\d+)$`,
	),
})

func renderNVUE(s *sheet) {
	p := s.profile()
	ecn := "nv set qos congestion-control " + p
	s.line("%s traffic-class %d ecn enable", ecn, s.Queue)
	s.line("%s traffic-class %d min-threshold %d", ecn, s.Queue, s.bytes("Kmin", &s.got.Kmin))
	s.line("%s traffic-class %d max-threshold %d", ecn, s.Queue, s.bytes("Kmax", &s.got.Kmax))
	s.line("%s traffic-class %d probability %d", ecn, s.Queue, s.Pmax)
	pfc := "nv set qos pfc " + p
	s.line("%s switch-priority %d", pfc, s.Priority)
	if s.XOFF > 0 {
		xoff := s.bytes("XOFF", &s.got.XOFF)
		s.line("%s xoff-threshold %d", pfc, xoff)
		if s.XONOffset > 0 {
			s.line("%s xon-threshold %d", pfc, max(0, xoff-s.bytes("xon_offset", &s.got.XONOffset)))
		}
	} else {
		s.drop("xon_offset", s.XONOffset)
		s.omit("alpha", "the names that NVUE gives to values of α are known to us for one only")
	}
	s.drop("guaranteed", s.Guaranteed)
	s.line("%s port-buffer %d", pfc, s.bytes("headroom", &s.got.Headroom))
	s.line("%s tx enable", pfc)
	for _, i := range s.Interfaces {
		s.line("nv set interface %s qos congestion-control profile %s", i, p)
		s.line("nv set interface %s qos pfc profile %s", i, p)
		s.undone("nv unset interface %s qos congestion-control profile", i)
		s.undone("nv unset interface %s qos pfc profile", i)
	}
	s.line("nv config apply")
	s.undone("nv unset qos congestion-control %s", p)
	s.undone("nv unset qos pfc %s", p)
	s.undone("nv config apply")
}
