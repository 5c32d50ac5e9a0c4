package dialect

import "math"

// Cisco Nexus 9000, NX-OS, counts in kilobytes (Cisco's QoS guide 10.x; published configurations).
// drop-probability is also the marking probability; weight 0 uses the instantaneous queue length.
var _ = register(&Dialect{
	Name: "nxos", Title: "Cisco NX-OS", render: renderNXOS,
	parse: lineParser(
		`^policy-map type queuing (?P<name>\S+)_out$`,
		`^\s+class type queuing c-out-8q-q(?P<queue>\d)$`,
		`^\s+random-detect minimum-threshold (?P<kmin_k>\d+) kbytes `+
			`maximum-threshold (?P<kmax_k>\d+) kbytes drop-probability (?P<pmax>\d+) weight 0 ecn$`,
		`^\s+pause pfc-cos (?P<priority>\d)$`,
		`^interface (?P<interface>\S+)$`,
		`^\s+pause buffer-size (?P<both_b>\d+) pause-threshold (?P<xoff_b>\d+) `+
			`resume-threshold (?P<resume_b>\d+)$`,
	),
})

func renderNXOS(s *builder) {
	p := s.profileName()
	kmin := s.inUnits("Kmin", &s.effective.Kmin, kilobyte, 1, math.MaxInt32)
	kmax := s.inUnits("Kmax", &s.effective.Kmax, kilobyte, 2, math.MaxInt32)
	s.line("policy-map type queuing %s_out", p)
	s.line("  class type queuing c-out-8q-q%d", s.Queue)
	s.line("    random-detect minimum-threshold %d kbytes maximum-threshold %d kbytes "+
		"drop-probability %d weight 0 ecn", kmin, kmax, s.Pmax)
	if s.XOFF == 0 && s.options.Unverified {
		s.line("    queue-limit dynamic %d", int(s.Alpha)+7)
	}
	s.line("policy-map type network-qos %s_nq", p)
	s.line("  class type network-qos c-8q-nq%d", s.Priority)
	s.line("    pause pfc-cos %d", s.Priority)
	s.line("    mtu 9216")
	if s.XOFF > 0 {
		xoff := s.inCells("XOFF", &s.effective.XOFF)
		headroom := s.inCells("headroom", &s.effective.Headroom)
		s.line("policy-map type queuing %s_in", p)
		s.line("  class type queuing c-in-q%d", s.Queue)
		resume := xoff - s.inCells("xon_offset", &s.effective.XONOffset)
		s.line("    pause buffer-size %d pause-threshold %d resume-threshold %d", xoff+headroom,
			xoff, max(0, resume))
	} else {
		s.omit("alpha", "NX-OS has no documented α; use a static xoff")
		s.omit("headroom", "NX-OS sets it only together with a static xoff")
		s.omitOptional("xon_offset", s.XONOffset)
	}
	s.omitOptional("guaranteed", s.Guaranteed)
	s.line("system qos")
	s.line("  service-policy type network-qos %s_nq", p)
	s.line("  service-policy type queuing output %s_out", p)
	s.undoLine("system qos")
	s.undoLine("  no service-policy type network-qos %s_nq", p)
	s.undoLine("  no service-policy type queuing output %s_out", p)
	for _, i := range s.Interfaces {
		s.line("interface %s", i)
		s.line("  priority-flow-control mode on")
		s.line("  priority-flow-control watch-dog-interval on")
		s.undoLine("interface %s", i)
		s.undoLine("  no priority-flow-control mode")
		s.undoLine("  no priority-flow-control watch-dog-interval")
		if s.XOFF > 0 {
			s.line("  service-policy type queuing input %s_in", p)
			s.undoLine("  no service-policy type queuing input %s_in", p)
		}
	}
	s.undoLine("no policy-map type queuing %s_out", p)
	s.undoLine("no policy-map type network-qos %s_nq", p)
	if s.XOFF > 0 {
		s.undoLine("no policy-map type queuing %s_in", p)
	}
}
