package dialect

// Arista EOS: kilobytes, of which thresholds may be 1 to 256000000 (the data model of Arista's
// AVD). Segments would be cells, whose size depends on the chip.
var _ = register(&Dialect{
	Name: "eos", Title: "Arista EOS", render: renderEOS,
	parse: lineParser(
		`^qos profile (?P<name>\S+)$`,
		`^\s+priority-flow-control priority (?P<priority>\d) no-drop$`,
		`^\s+uc-tx-queue (?P<queue>\d)$`,
		`^\s+random-detect ecn minimum-threshold (?P<kmin_k>\d+) kbytes maximum-threshold (?P<kmax_k>\d+) kbytes max-mark-probability (?P<pmax>\d+) weight 0$`,
		`^interface (?P<interface>\S+)$`,
		`^\s+ingress headroom kbytes (?P<headroom_k>\d+)$`,
	),
})

func renderEOS(s *sheet) {
	const most = 256_000_000
	p := s.profile()
	kmin := s.in("Kmin", &s.got.Kmin, kilobyte, 1, most)
	kmax := s.in("Kmax", &s.got.Kmax, kilobyte, 2, most)
	s.line("qos profile %s", p)
	s.line("   qos trust dscp")
	s.line("   priority-flow-control on")
	s.line("   priority-flow-control priority %d no-drop", s.Priority)
	s.line("   !")
	s.line("   uc-tx-queue %d", s.Queue)
	s.line("      random-detect ecn minimum-threshold %d kbytes maximum-threshold %d kbytes "+
		"max-mark-probability %d weight 0", kmin, kmax, s.Pmax)
	s.line("      random-detect ecn count")
	for _, i := range s.Interfaces {
		s.line("interface %s", i)
		s.line("   service-profile %s", p)
		s.undone("interface %s", i)
		s.undone("   no service-profile %s", p)
	}
	s.line("platform trident mmu queue profile %s", p)
	s.line("   ingress headroom kbytes %d", s.in("headroom", &s.got.Headroom, kilobyte, 0, most))
	if s.options.Unverified && s.XOFF == 0 {
		s.line("   ingress priority-group %d threshold %v", s.Priority, s.Alpha)
	}
	if s.XOFF > 0 {
		s.omit("xoff", "EOS's thresholds are parts of the buffer")
	} else {
		s.omit("alpha", "the values that EOS's thresholds take for α are not known to us")
	}
	s.drop("xon_offset", s.XONOffset)
	s.drop("guaranteed", s.Guaranteed)
	s.line("platform trident mmu queue profile %s apply", p)
	s.undone("no platform trident mmu queue profile %s apply", p)
	s.undone("no platform trident mmu queue profile %s", p)
	s.undone("no qos profile %s", p)
}
