package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// TestHostile runs seeds of the mode hostile, of every kind and beside tokens, credits and real
// hosts.
func TestHostile(t *testing.T) {
	seeds := 24
	if testing.Short() || raced {
		seeds = 4
	}
	for _, name := range []string{"hostile", "hostile,tocc", "hostile,carc", "hostile,hosts"} {
		m, err := modeNamed(name)
		require.NoError(t, err)
		var out bytes.Buffer
		r := runner{first: max(1, *seedFlag), seeds: seeds, workers: 2, mode: m, out: &out}
		assert.Zero(t, r.run(), "%s, -seed=%d: %s", name, r.first, &out)
		seeds = max(2, seeds/4)
	}
}

// What forgers leave out would be noticed, and so would a host that keeps more than it may.
func TestEveryHostilityIsNoticed(t *testing.T) {
	const at = units.Time(60 * units.Microsecond)
	send := func(w *world, x *side, op wire.Opcode, psn wire.PSN, payload int) {
		f := forger{world: w, volley: &volley{from: x.host, forgery: forgeOpcode},
			dice: newDice(1, 1)}
		var tmpl wire.Template
		a := f.address(x.peer)
		a.TOS = 0
		require.NoError(t, tmpl.Set(a))
		_, total := tmpl.Build(f.room[:], wire.Fields{Op: op, PSN: psn}, payload)
		tmpl.Seal(f.room[:total])
		x.node.inject(f.room[:total])
	}
	for _, c := range []struct {
		name string
		do   func(w *world, x *side)
		says string
	}{
		{"a packet that is over", func(w *world, x *side) {
			send(w, x, wire.RCWriteMiddle, x.peer.qp.PSNs().Expected.Add(wire.PSNMask), 1024)
		}, ""},
		{"a packet that nobody will get to", func(w *world, x *side) {
			send(w, x, wire.RCSendOnly, x.lastPSN().Add(1), 8)
		}, ""},
		{"a SEND with a PSN that is to come", func(w *world, x *side) {
			send(w, x, wire.RCSendOnly, x.peer.qp.PSNs().Expected.Add(100), 8)
		}, "remote invalid request"},
		{"a host that holds more than it may", func(w *world, x *side) {
			for i := range 40 {
				w.net.At(at.Add(units.Duration(i)*200*units.Nanosecond), func() {
					send(w, x, wire.RCSendOnly, x.peer.qp.PSNs().Expected.Add(400), 8)
				})
			}
			w.net.At(at.Add(12*units.Microsecond), func() {
				w.plan.traits[x.peer.host].held = 1
				x.peer.node.withinBudget()
			})
		}, "it keeps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := wellBehaved(transport.OpWrite)
			p.mode.hostile, p.sessions[0].repeats, p.sessions[0].sack = true, true, wire.MaxSACKBits
			noticed(t, p, at, c.do, c.says)
		})
	}
}

// A forger's packet is one that the peer has not sent lately, and will not send.
func TestForgedPSNs(t *testing.T) {
	p := wellBehaved(transport.OpWrite)
	p.mode.hostile = true
	noticed(t, p, units.Time(60*units.Microsecond), func(w *world, x *side) {
		at := x.peer.qp.PSNs()
		for _, c := range []struct {
			psn      wire.PSN
			believed bool
		}{
			{at.Expected, true}, {at.Expected.Add(wire.PSNMask), false}, {x.lastPSN(), true},
			{x.lastPSN().Add(1), false},
			{at.Unacknowledged, true}, {at.Unacknowledged.Add(wire.PSNMask), true},
			{x.peer.lastPSN(), true}, {x.peer.lastPSN().Add(1), false},
		} {
			assert.Equal(t, c.believed, x.peer.believes(c.psn), "%d of %+v", c.psn, at)
		}
		for kind := range forgeries {
			f := forger{world: w, volley: &volley{forgery: kind, side: 1},
				dice: newDice(1, uint64(kind))}
			for range 200 {
				if psn := f.psn(x.peer); kind != forgeStranger && kind != forgePartition {
					require.False(t, x.peer.believes(psn))
				}
			}
		}
	}, "")
}
