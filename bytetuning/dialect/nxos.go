package dialect

import "math"

// Cisco Nexus 9000, NX-OS: kilobytes (Cisco's QoS guide 10.x; public configurations).
// drop-probability is also that of marking; weight 0 looks at the queue as it is.
var _ = register(&Dialect{
	Name: "nxos", Title: "Cisco NX-OS", render: renderNXOS,
	parse: lineParser(
		`^policy-map type queuing (?P<name>\S+)_out$`,
		`^\s+class type queuing c-out-8q-q(?P<queue>\d)$`,
		`^\s+random-detect minimum-threshold (?P<kmin_k>\d+) kbytes maximum-threshold (?P<kmax_k>\d+) kbytes drop-probability (?P<pmax>\d+) weight 0 ecn$`,
		`^\s+pause pfc-cos (?P<priority>\d)$`,
		`^interface (?P<interface>\S+)$`,
		`^\s+pause buffer-size (?P<both_b>\d+) pause-threshold (?P<xoff_b>\d+) resume-threshold (?P<resume_b>\d+)$`,
	),
})

func renderNXOS(s *sheet) {
	p := s.profile()
	kmin := s.in("Kmin", &s.got.Kmin, kilobyte, 1, math.MaxInt32)
	kmax := s.in("Kmax", &s.got.Kmax, kilobyte, 2, math.MaxInt32)
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
		xoff, headroom := s.bytes("XOFF", &s.got.XOFF), s.bytes("headroom", &s.got.Headroom)
		s.line("policy-map type queuing %s_in", p)
		s.line("  class type queuing c-in-q%d", s.Queue)
		resume := xoff - s.bytes("xon_offset", &s.got.XONOffset)
		s.line("    pause buffer-size %d pause-threshold %d resume-threshold %d", xoff+headroom,
			xoff, max(0, resume))
	} else {
		s.omit("alpha", "NX-OS has no α that we know a source for; a fixed xoff is translated")
		s.omit("headroom", "NX-OS gives it together with a fixed xoff")
		s.drop("xon_offset", s.XONOffset)
	}
	s.drop("guaranteed", s.Guaranteed)
	s.line("system qos")
	s.line("  service-policy type network-qos %s_nq", p)
	s.line("  service-policy type queuing output %s_out", p)
	s.undone("system qos")
	s.undone("  no service-policy type network-qos %s_nq", p)
	s.undone("  no service-policy type queuing output %s_out", p)
	for _, i := range s.Interfaces {
		s.line("interface %s", i)
		s.line("  priority-flow-control mode on")
		s.line("  priority-flow-control watch-dog-interval on")
		s.undone("interface %s", i)
		s.undone("  no priority-flow-control mode")
		s.undone("  no priority-flow-control watch-dog-interval")
		if s.XOFF > 0 {
			s.line("  service-policy type queuing input %s_in", p)
			s.undone("  no service-policy type queuing input %s_in", p)
		}
	}
	s.undone("no policy-map type queuing %s_out", p)
	s.undone("no policy-map type network-qos %s_nq", p)
	if s.XOFF > 0 {
		s.undone("no policy-map type queuing %s_in", p)
	}
}
