package dialect

// Arista EOS counts in kilobytes, thresholds from 1 to 256000000 (the data model of Arista's AVD).
// Its other unit, segments, are cells, whose size depends on the chip.
var _ = register(&Dialect{
	Name: "eos", Title: "Arista EOS", render: renderEOS,
	parse: lineParser(
		`^qos profile (?P<name>\S+)$`,
		`^\s+priority-flow-control priority (?P<priority>\d) no-drop$`,
		`^\s+uc-tx-queue (?P<queue>\d)$`,
		`^\s+random-detect ecn minimum-threshold (?P<kmin_k>\d+) kbytes `+
			`maximum-threshold (?P<kmax_k>\d+) kbytes max-mark-probability (?P<pmax>\d+) weight 0$`,
		`^interface (?P<interface>\S+)$`,
		`^\s+ingress headroom kbytes (?P<headroom_k>\d+)$`,
	),
})

func renderEOS(s *builder) {
	const most = 256_000_000
	p := s.profileName()
	kmin := s.inUnits("Kmin", &s.effective.Kmin, kilobyte, 1, most)
	kmax := s.inUnits("Kmax", &s.effective.Kmax, kilobyte, 2, most)
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
		s.undoLine("interface %s", i)
		s.undoLine("   no service-profile %s", p)
	}
	s.line("platform trident mmu queue profile %s", p)
	headroom := s.inUnits("headroom", &s.effective.Headroom, kilobyte, 0, most)
	s.line("   ingress headroom kbytes %d", headroom)
	if s.options.Unverified && s.XOFF == 0 {
		s.line("   ingress priority-group %d threshold %v", s.Priority, s.Alpha)
	}
	if s.XOFF > 0 {
		s.omit("xoff", "EOS thresholds are fractions of the buffer")
	} else {
		s.omit("alpha", "the EOS threshold values for α are not documented")
	}
	s.omitOptional("xon_offset", s.XONOffset)
	s.omitOptional("guaranteed", s.Guaranteed)
	s.line("platform trident mmu queue profile %s apply", p)
	s.undoLine("no platform trident mmu queue profile %s apply", p)
	s.undoLine("no platform trident mmu queue profile %s", p)
	s.undoLine("no qos profile %s", p)
}
