package fabric

import (
	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/units"
)

// PFC (IEEE 802.1Qbb). A pause frame has the maximum duration and is repeated while the cause
// lasts, as switches do. A resume is a pause of duration 0.
const (
	pauseQuanta  = 65535
	pauseQuantum = 64                    // bytes in a quantum of 512 bit times
	pauseWire    = minFrame + interFrame // bytes of a pause frame on the wire
)

// pauseTime returns the longest pause at a rate.
func pauseTime(rate units.BitRate) units.Duration {
	return rate.Duration(pauseQuanta * pauseQuantum)
}

// pausePeer pauses queue prio of the peer, and renews the pause before it expires until resumePeer.
func (p *Port) pausePeer(prio uint8) {
	if p.pausing>>prio&1 != 0 {
		return
	}
	p.pausing |= 1 << prio
	p.pauseCalls[prio]++
	p.queues[prio].stats.PausesSent++
	p.renewPause(prio, p.pauseCalls[prio])
}

// renewPause sends the pause of one call of pausePeer, and schedules its renewal.
func (p *Port) renewPause(prio uint8, call uint32) {
	if p.pausing>>prio&1 == 0 || p.pauseCalls[prio] != call {
		return
	}
	p.sendPause(prio, pauseTime(p.rate))
	p.net.call(p.net.now.Add(pauseTime(p.rate)/2), func() { p.renewPause(prio, call) })
}

// resumePeer ends the pause of pausePeer, except during a pause storm.
func (p *Port) resumePeer(prio uint8) {
	if p.pausing&^p.storm>>prio&1 != 0 {
		p.pausing &^= 1 << prio
		p.sendPause(prio, 0)
	}
}

// sendPause sends a pause frame, after the frame on the wire and before all queued frames. A pause
// frame has a time for every priority: one that is still waiting to leave takes this one's along.
func (p *Port) sendPause(prio uint8, wait units.Duration) {
	p.net.record(trace.PauseSent, p, prio, 0, wait)
	f := p.first.tail
	if f == nil {
		f = p.net.newFrame(nil)
		f.pause, f.state = true, frameMoving
		f.resize(minFrame - frameCheck)
		p.first.push(f)
	}
	if bit := uint8(1) << prio; wait > 0 {
		f.pauses, f.resumes, f.wait = f.pauses|bit, f.resumes&^bit, wait
	} else {
		f.pauses, f.resumes = f.pauses&^bit, f.resumes|bit
	}
	p.kick()
}

// receivePause applies a received pause frame after the response time of 802.3.
func (p *Port) receivePause(f *frame) {
	pauses, resumes, wait := f.pauses, f.resumes, f.wait
	p.net.release(f)
	if p.sw != nil && p.sw.config.IgnorePauses {
		return
	}
	apply := func() {
		for prio := range uint8(Priorities) {
			switch bit := uint8(1) << prio; {
			case pauses&bit != 0:
				p.pause(prio, wait)
			case resumes&bit != 0:
				p.resume(prio)
			}
		}
	}
	if response := p.net.config.PauseResponse; response > 0 {
		p.net.call(p.net.now.Add(p.rate.Duration(response)), apply)
		return
	}
	apply()
}

// pause pauses queue prio.
func (p *Port) pause(prio uint8, wait units.Duration) {
	p.net.record(trace.PauseReceived, p, prio, 0, wait)
	q := p.endPause(prio)
	p.paused |= 1 << prio
	p.until[prio] = p.net.now.Add(wait)
	q.stats.PausesReceived++
	q.stats.Paused += wait
	p.net.call(p.until[prio], p.kick)
}

// resume resumes queue prio.
func (p *Port) resume(prio uint8) {
	p.net.record(trace.PauseReceived, p, prio, 0, 0)
	p.endPause(prio)
	p.paused &^= 1 << prio
	p.kick()
}

// endPause takes the rest of a pause in progress off the time that the queue is paused.
func (p *Port) endPause(prio uint8) *queue {
	q := &p.queues[prio]
	if p.paused>>prio&1 != 0 {
		q.stats.Paused -= max(0, p.until[prio].Sub(p.net.now))
	}
	return q
}

// Headroom returns the minimum headroom per port with which a lossless queue loses nothing of
// frames of one length. It covers the frame that crosses the threshold and every frame whose
// transmission starts before the peer stops, each of mtu bytes with its check sequence. The pause
// frame waits for a frame that has just started in its direction, is serialised, propagates, and
// takes effect after the time of response bytes; frames sent until then still arrive. there and
// back are the delays of the two directions: propagation and, towards a switch, its forwarding
// delay.
//
// With frames of different lengths one more of mtu bytes may arrive: shorter ones fill the time
// until just before the peer stops, and a long one begins then.
//
// ByteTuning's equation 5 (C·2d + MTU + MTU + response) is the same without rounding to whole
// frames and without preambles.
func Headroom(rate units.BitRate, there, back units.Duration, mtu,
	response units.Bytes) units.Bytes {
	one := mtu + interFrame
	blind := there + back + rate.Duration(one+pauseWire) + rate.Duration(response)
	frame := rate.Duration(one)
	frames := (blind + frame - 1) / frame
	return mtu * units.Bytes(1+frames)
}
