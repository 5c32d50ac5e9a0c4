package cc

import "github.com/goroce/goroce/units"

// BoltFlags are what Bolt writes on data packets, and what their acknowledgements echo.
type BoltFlags uint8

// The flags.
const (
	BoltFirst BoltFlags = 1 << iota // of the flow's first window: no switch may let it increase
	BoltLast                        // of the last window: its bandwidth becomes free
	// another window follows; if no switch removes it, the window grows by a packet
	BoltINC
	BoltDEC // the packet met a queue
	BoltAI  // once a round trip: additive increase
)

// Tag returns the flags of a data packet that leaves now. unsent is the flow's backlog, this packet
// included.
func (d *Decision) Tag(unsent units.Bytes) BoltFlags {
	tags := d.Tags
	if unsent <= d.Window {
		tags |= BoltLast
	} else if tags&BoltFirst == 0 {
		tags |= BoltINC
	}
	return tags
}

// Bolt implements the sender of Arslan et al., "Bolt: Sub-RTT Congestion Control for Ultra-Low
// Latency" (NSDI'23). A switch with a queue reports it to the sender at once (SRC). Each of n flows
// that get the report removes its share of the queue, a packet at a time, so that the queue is gone
// after one round trip to the switch. A switch with spare capacity (supply matching), or one that
// saw the last window of a flow (proactive ramp-up), passes the INC flag of a packet: the window
// grows by a packet.
//
// The rules are those of the authors' ns-3 model; the paper was not available. Spreading a window
// over its round trip (pace) is OURS: packets in one bunch meet the switch at one time of the
// round trip and, however many they are, remove one packet, so large windows stay large.
type Bolt struct {
	boltParams
	path Path

	cwnd     float64 // bytes
	pkt      float64
	rtt      units.Duration // newest sample; 0 none
	decrease cooldown       // t_dec
	fresh    bool           // nothing of the newest posting is acknowledged yet
	begun    psnMark        // end of what was posted before
	askAI    bool
	asked    psnMark // a packet with the AI flag is in flight before it
	gotSRC   bool
	record
}

type boltParams struct {
	maxMDF                     float64
	ai                         Packets
	targetQueue                units.Bytes
	minCwnd, maxCwnd, initCwnd Packets
	pace                       bool
}

func (p *boltParams) declare(s *schema) {
	s.param(&p.maxMDF, "max_md", "0.5", "(0, 1)", "Bolt artifact", "part of the window that a "+
		"loss takes, and a report of a switch when it is at most a packet")
	s.param(&p.ai, "ai", "1", "(0, inf)", "Bolt artifact",
		"added to the window in every round trip")
	s.param(&p.targetQueue, "target_queue", "2pkt", "[0, inf)", "Bolt artifact: CC_THRESH",
		"queue that may stay")
	s.param(&p.minCwnd, "min_cwnd", "0.01", "(0, inf)", "Bolt artifact: 15B of 1500B",
		"least window")
	s.param(&p.maxCwnd, "max_cwnd", "1BDP", "(0, inf)", "Bolt artifact", "largest window")
	s.param(&p.initCwnd, "init_cwnd", "1BDP", "(0, inf)", "Bolt artifact",
		"window of a flow that begins")
	s.param(&p.pace, "pace", "on", "", "OURS",
		"spread a window over its round trip; the artifact does not")
	s.atMost("min_cwnd", "init_cwnd")
	s.atMost("init_cwnd", "max_cwnd")
}

func (p *boltParams) build(path Path) Algorithm {
	pkt := float64(path.Payload)
	return &Bolt{boltParams: *p, path: path, pkt: pkt, cwnd: float64(p.initCwnd) * pkt, fresh: true,
		askAI: true}
}

// Events implements Algorithm.
func (*Bolt) Events() EventSet { return Events(ACK, ECN, RTT, CST, OOO, RTO, TX, POST) }

// Start implements Starter: at line rate.
func (b *Bolt) Start(units.Time) Decision { return b.decide() }

// On implements Algorithm.
func (b *Bolt) On(ev *Event, now units.Time) Decision {
	switch ev.Kind {
	case ACK, ECN, RTT:
		b.onAck(ev, now)
	case CST:
		rtt := b.roundTrip()
		if ev.SRC.Sent != 0 {
			rtt = now.Sub(ev.SRC.Sent)
		}
		if b.onSRC(&ev.SRC, rtt, now) {
			b.gotSRC = true
		}
	case POST:
		b.fresh = true
		b.begun.at(ev.SndNxt)
	case TX:
		if b.askAI && !b.fresh { // this packet carries the flag
			b.askAI = false
			b.asked.at(ev.SndNxt)
		}
	case OOO:
		b.onLoss(CutLoss, now)
	case RTO:
		b.onLoss(CutTimeout, now)
	}
	b.cwnd = clamp(b.cwnd, float64(b.minCwnd)*b.pkt, float64(b.maxCwnd)*b.pkt)
	return b.decide()
}

func (b *Bolt) onAck(ev *Event, now units.Time) {
	if delay, ok := b.sample(ev); ok {
		b.rtt = delay
		if b.begun.passed(ev.PSN) {
			b.fresh = false
		}
	}
	if ev.Packets <= 0 {
		return
	}
	switch {
	case ev.Bolt&BoltAI != 0:
		b.cwnd += float64(b.ai) * b.pkt
		b.askAI, b.asked = true, psnMark{}
	case b.asked.set && b.asked.passed(ev.PSN): // the packet with the flag was lost
		b.askAI, b.asked = true, psnMark{}
	}
	b.cwnd += float64(min(max(ev.Increases, 0), ev.Packets)) * b.pkt
	// switches that only mark: the same report, a round trip later
	if ev.Bolt&BoltDEC != 0 && !b.gotSRC {
		b.onSRC(&ev.SRC, b.rtt, now)
	}
}

// onSRC removes a packet from the window when this flow's share of the queue demands it. rtt is the
// round trip to the switch. onSRC returns false for an impossible report.
func (b *Bolt) onSRC(src *SRC, rtt units.Duration, now units.Time) bool {
	if src.Rate <= 0 || src.Drain < 0 || rtt <= 0 || rtt > maxDelay {
		b.ignored++
		return false
	}
	if b.cwnd <= b.pkt {
		b.cwnd *= 1 - b.maxMDF
		b.cut(CutSwitch, now)
		return true
	}
	rate := float64(b.path.LineRate)
	if b.rtt > 0 {
		rate = 8 * b.cwnd / b.rtt.Seconds()
	}
	share := rate / float64(src.Rate)
	q := (float64(src.Rate)/8*src.Drain.Seconds() - float64(b.targetQueue)) / b.pkt
	if q <= 0 {
		return true // nothing to remove
	}
	gap := clamp(float64(rtt)/(q*share), 0, float64(maxDelay))
	if b.decrease.expired(now, units.Duration(gap)) {
		b.decrease.start(now)
		b.cwnd -= b.pkt
		b.cut(CutSwitch, now)
	}
	return true
}

func (b *Bolt) onLoss(why Reason, now units.Time) {
	if b.decrease.expired(now, b.roundTrip()) {
		b.decrease.start(now)
		b.cwnd *= 1 - b.maxMDF
		b.cut(why, now)
	}
}

func (b *Bolt) roundTrip() units.Duration {
	if b.rtt > 0 {
		return b.rtt
	}
	return b.path.BaseRTT
}

func (b *Bolt) decide() Decision {
	d := windowed(Packets(b.cwnd/b.pkt), &b.path, b.roundTrip())
	if b.pace {
		// As in HPCC, a window of 3.9 packets must not act as one of three. The rate is also set at
		// line rate: a port serves its paced flows by time, not in turn with the unpaced ones.
		d.Window = wholeBytes(min(b.cwnd+b.pkt-1, float64(b.maxCwnd)*b.pkt))
		d.Rate = min(rateOf(b.cwnd, b.roundTrip()), b.path.LineRate)
	}
	switch {
	case b.fresh:
		d.Tags = BoltFirst
	case b.askAI:
		d.Tags = BoltAI
	}
	return d
}

// Snapshot implements Observable.
func (b *Bolt) Snapshot() Snapshot { return b.snapshot(b.decide()) }
