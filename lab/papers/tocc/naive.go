package tocc

import (
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// remoteGranter is a granter that runs in an agent at a distance from its NIC: every arrival
// crosses as a message of its own, and so does each token on its way back.
type remoteGranter struct {
	cc.Granter
	net      *fabric.Network
	host     *fabric.Host
	distance units.Duration
	asks     cc.Reporter

	tokens   []cc.ControlMessage // at the NIC, to be sent
	since    units.Time          // the first of them arrived
	alarm    units.Time          // when the agent looks again
	messages uint64
}

// up runs a function in the agent, a crossing later.
func (r *remoteGranter) up(now units.Time, f func(now units.Time)) {
	r.messages++
	at := now.Add(r.distance)
	r.net.At(at, func() { f(at); r.decide(at) })
}

// decide sends tokens that are due down to the NIC, and schedules the next decision.
func (r *remoteGranter) decide(now units.Time) {
	for next := r.Granter.Next(); next != 0; next = r.Granter.Next() {
		if next.After(now) {
			if !r.alarm.After(now) || next.Before(r.alarm) {
				r.alarm = next
				r.net.At(next, func() { r.decide(next) })
			}
			return
		}
		if n, some := r.Granter.Emit(false, now); some {
			r.messages++
			at := now.Add(r.distance)
			r.net.At(at, func() { r.send(n, at) })
		}
	}
}

// send handles a token that has arrived at the NIC.
func (r *remoteGranter) send(n cc.ControlMessage, now units.Time) {
	if len(r.tokens) == 0 {
		r.since = now
	}
	r.tokens = append(r.tokens, n)
	r.asks.Reschedule()
	r.host.Wake()
}

// Arrived implements cc.Granter.
func (r *remoteGranter) Arrived(a *cc.Arrival, now units.Time) {
	one := *a
	r.up(now, func(now units.Time) { r.Granter.Arrived(&one, now) })
}

// Missing implements cc.Granter.
func (r *remoteGranter) Missing(packets int, bytes units.Bytes, now units.Time) {
	r.up(now, func(now units.Time) { r.Granter.Missing(packets, bytes, now) })
}

// Receive implements cc.Granter. It accepts every message, because the agent's error would come too
// late.
func (r *remoteGranter) Receive(n *cc.ControlMessage, now units.Time) error {
	one := *n
	r.up(now, func(now units.Time) { _ = r.Granter.Receive(&one, now) })
	return nil
}

// Emit implements cc.Granter.
func (r *remoteGranter) Emit(bool, units.Time) (cc.ControlMessage, bool) {
	if len(r.tokens) == 0 {
		return cc.ControlMessage{}, false
	}
	n := r.tokens[0]
	r.tokens = r.tokens[1:]
	return n, true
}

// Next implements cc.Granter.
func (r *remoteGranter) Next() units.Time {
	if len(r.tokens) == 0 {
		return 0
	}
	return r.since
}

// Attach implements cc.Granter.
func (r *remoteGranter) Attach(d cc.Reporter) {
	r.asks = d
	r.Granter.Attach(d)
}

// Apply implements cc.Granter.
func (r *remoteGranter) Apply(d cc.Decision, now units.Time) {
	r.Granter.Apply(d, now)
	r.decide(now)
}
