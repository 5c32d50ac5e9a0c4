package cc

import "github.com/goroce/goroce/units"

// D2TCP implements Vamanan et al., "Deadline-Aware Datacenter TCP (D2TCP)" (SIGCOMM'12): DCTCP
// whose cut is alpha^d/2 instead of alpha/2. d is the time the flow still needs over the time it
// still has, so a flow that is late (d > 1) yields less than one that is not (d < 1). Without
// congestion, alpha = 0, no flow is cut; with alpha = 1 all flows are halved, however late.
type D2TCP struct {
	DCTCP
	maxD, minD float64
	allowed    units.Duration
	deadline   units.Time // 0 none
}

type d2tcpParams struct {
	dctcpParams
	maxD, minD float64
	deadline   units.Duration
}

func (p *d2tcpParams) declare(s *schema) {
	s.param(&p.deadline, "deadline", "0s", "[0s, inf)", "OURS",
		"deadline of the flow, after its start; 0 is none, until SetDeadline")
	s.param(&p.minD, "d_min", "0.5", "(0, 1]", "D2TCP", "least d, of a far deadline")
	s.param(&p.maxD, "d_max", "2", "[1, 16]", "D2TCP", "largest d, of a near deadline")
	p.dctcpParams.declare(s)
}

func (p *d2tcpParams) build(path Path) Algorithm {
	return &D2TCP{DCTCP: p.start(path), maxD: p.maxD, minD: p.minD, allowed: p.deadline}
}

// SetDeadline sets when what is posted should have arrived, by the clock of events. 0
// removes the deadline, which makes it DCTCP.
func (d *D2TCP) SetDeadline(t units.Time) { d.deadline = t }

// Start implements Starter.
func (d *D2TCP) Start(now units.Time) Decision {
	if d.allowed > 0 {
		d.deadline = now.Add(d.allowed)
	}
	return d.decide()
}

// On implements Algorithm.
func (d *D2TCP) On(ev *Event, now units.Time) Decision {
	d.exponent = d.imminence(ev.Left, now)
	return d.DCTCP.On(ev, now)
}

// imminence returns d. The time still needed assumes the average window of the saw-tooth, 3/4 of
// the current one. The round trip is the measured one; the artifact of PrioPlus takes the base
// instead.
func (d *D2TCP) imminence(left units.Bytes, now units.Time) float64 {
	if d.deadline == 0 {
		return 1
	}
	has := d.deadline.Sub(now)
	if has <= 0 {
		return d.maxD
	}
	bytes := d.cwnd * float64(d.path.Payload)
	needs := float64(left) / (0.75 * bytes) * float64(d.srtt.value)
	return clamp(needs/float64(has), d.minD, d.maxD)
}
