package fabric

import "github.com/goroce/goroce/units"

// PFC (IEEE 802.1Qbb). A pause asks for the longest time there is and is repeated as long as the
// reason lasts, as switches do; a resume is a pause of no time.
const (
	pauseQuanta = 65535
	quantum802  = 64                      // bytes: 512 bit times
	pauseWire   = shortest + betweenSpace // bytes of a pause frame on the wire
)

// pauseTime is the longest pause at a rate.
func pauseTime(rate units.BitRate) units.Duration { return rate.Duration(pauseQuanta * quantum802) }

// ask tells who sends into this port to pause queue prio, and repeats it before the pause ends, as
// long as nobody says otherwise.
func (p *Port) ask(prio uint8) {
	if p.asking>>prio&1 != 0 {
		return
	}
	p.asking |= 1 << prio
	p.asked[prio]++
	p.queues[prio].stats.PausesSent++
	p.repeat(prio, p.asked[prio])
}

// repeat says the pause of one call of ask again and again.
func (p *Port) repeat(prio uint8, call uint32) {
	if p.asking>>prio&1 == 0 || p.asked[prio] != call {
		return
	}
	p.sayPause(prio, pauseTime(p.rate))
	p.net.call(p.net.now.Add(pauseTime(p.rate)/2), func() { p.repeat(prio, call) })
}

// resume ends what ask began, unless a storm is on.
func (p *Port) resume(prio uint8) {
	if p.asking&^p.storm>>prio&1 != 0 {
		p.asking &^= 1 << prio
		p.sayPause(prio, 0)
	}
}

// sayPause sends a pause frame: after the frame on the wire, before all that wait.
func (p *Port) sayPause(prio uint8, wait units.Duration) {
	f := p.net.newFrame(nil)
	f.pause, f.prio, f.wait, f.state = true, prio, wait, frameMoving
	f.resize(shortest - frameCheck)
	p.first.push(f)
	p.kick()
}

// heed obeys a pause frame that came in, after the time that 802.3 gives to respond.
func (p *Port) heed(f *frame) {
	prio, wait := f.prio, f.wait
	p.net.release(f)
	if p.sw != nil && p.sw.config.IgnorePauses {
		return
	}
	obey := func() {
		now := p.net.now
		q := &p.queues[prio]
		if p.paused>>prio&1 != 0 {
			q.stats.Paused -= max(0, p.until[prio].Sub(now))
		}
		if wait == 0 {
			p.paused &^= 1 << prio
			p.kick()
			return
		}
		p.paused |= 1 << prio
		p.until[prio] = now.Add(wait)
		q.stats.PausesHeard++
		q.stats.Paused += wait
		p.net.call(p.until[prio], p.kick)
	}
	if response := p.net.config.PauseResponse; response > 0 {
		p.net.call(p.net.now.Add(p.rate.Duration(response)), obey)
		return
	}
	obey()
}

// Headroom answers the bytes that a lossless queue needs for each port so that nothing is lost,
// and no byte less does: with frames of mtu bytes (check sequence included) the frame that crosses
// the threshold, and then every frame that begins before the pause is heard. The pause waits for a
// frame that has just begun the other way, takes its own time, travels, and is responded to after
// response bytes' time; what had left by then travels too. oneWay is propagation and, on the way to
// a switch, its forwarding delay.
//
// ByteTuning's equation 5 (C·2d + MTU + MTU + response) is this without whole frames and preambles.
func Headroom(rate units.BitRate, there, back units.Duration, mtu,
	response units.Bytes) units.Bytes {
	one := mtu + betweenSpace
	blind := there + back + rate.Duration(one+pauseWire) + rate.Duration(response)
	frame := rate.Duration(one)
	frames := (blind + frame - 1) / frame
	return mtu * units.Bytes(1+frames)
}
