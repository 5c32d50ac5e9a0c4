package dpdk

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/goroce/goroce/dpdk/ethdev"
	"github.com/goroce/goroce/dpdk/ring"
	"github.com/goroce/goroce/packet/bottleneck"
)

// ErrTaken is returned if both ends of a loop are open.
var ErrTaken = errors.New("taken")

// loops are the pairs with at least one open end. Accessed on EAL's main thread only.
var loops = map[string]*loopPair{}

// loopPair is two devices joined by rings. The first one to open sets its dimensions.
type loopPair struct {
	name            string
	queues, classes int
	depth           int
	rings           [2][]*ring.Ring     // toward end 0, toward end 1
	links           [2]*bottleneck.Link // same; nil: no bottleneck
	taken           [2]bool
	up              atomic.Bool // both ends are open
}

// loopEnd is the part of a pair that a Device keeps.
type loopEnd struct {
	pair *loopPair
	end  int
}

// openLoop takes a free end of the loop that u names. It makes the loop if there is none.
func openLoop(u *URL, o Options) (loopEnd, error) {
	pair := loops[u.Name]
	if pair == nil {
		var err error
		if pair, err = newLoop(u, o); err != nil {
			return loopEnd{}, err
		}
		loops[u.Name] = pair
	}
	for end := range pair.taken {
		if !pair.taken[end] {
			pair.taken[end] = true
			pair.drain(end) // frames sent while the other end was closed are lost, as on a wire
			pair.up.Store(pair.taken[0] && pair.taken[1])
			return loopEnd{pair, end}, nil
		}
	}
	return loopEnd{}, fmt.Errorf("both ends of loop:%s are %w", u.Name, ErrTaken)
}

func newLoop(u *URL, o Options) (*loopPair, error) {
	depth, err := u.depth()
	if err != nil {
		return nil, err
	}
	p := &loopPair{name: u.Name, queues: o.Queues, classes: o.Classes, depth: depth}
	config, err := u.bottleneck()
	if err != nil {
		return nil, err
	}
	if !config.Zero() {
		p.links = [2]*bottleneck.Link{{Config: config}, {Config: config}}
	}
	serial := nextSerial("loop")
	for end := range p.rings {
		for i := range p.queues * p.classes {
			r, err := ring.Create(fmt.Sprintf("goroce_loop%d_%d_%d", serial, end, i), depth)
			if err != nil {
				p.free()
				return nil, err
			}
			p.rings[end] = append(p.rings[end], r)
		}
	}
	return p, nil
}

// attach makes the device of this end.
func (e loopEnd) attach() (ethdev.Port, error) {
	name := fmt.Sprintf("goroce_loop%d", nextSerial("ring"))
	return ethdev.FromRings(name, e.pair.rings[e.end], e.pair.rings[1-e.end])
}

// release gives the end back; the last one frees the loop.
func (e loopEnd) release() {
	p := e.pair
	p.up.Store(false)
	p.drain(e.end)
	p.taken[e.end] = false
	if !p.taken[0] && !p.taken[1] {
		p.drain(1 - e.end)
		p.free()
		delete(loops, p.name)
	}
}

// waiting returns the number of frames that wait to be received at this end.
func (e loopEnd) waiting() (frames int) {
	for _, r := range e.pair.rings[e.end] {
		frames += r.Count()
	}
	return frames
}

func (p *loopPair) drain(end int) {
	for _, r := range p.rings[end] {
		r.Drain()
	}
}

func (p *loopPair) free() {
	for _, rings := range p.rings {
		for _, r := range rings {
			r.Free()
		}
	}
}
