package main

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/internal/race"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// TestHostile runs seeds of the mode hostile, of every kind and combined with tokens, credits and
// realistic hosts.
func TestHostile(t *testing.T) {
	seeds := 24
	if race.Short() {
		seeds = 4
	}
	for _, name := range []string{"hostile", "hostile,tocc", "hostile,carc", "hostile,hosts"} {
		m, err := modeNamed(name)
		require.NoError(t, err)
		var out bytes.Buffer
		r := runner{first: max(1, *seedFlag), seeds: seeds, workers: 2, mode: m, out: &out}
		assert.Zero(t, r.run(t.Context()), "%s, -seed=%d: %s", name, r.first, &out)
		seeds = max(2, seeds/4)
	}
}

// TestHostileViolationsDetected checks that packets which forgers leave out would be detected, and
// so would a host that exceeds its limits.
func TestHostileViolationsDetected(t *testing.T) {
	const at = units.Time(60 * units.Microsecond)
	send := func(sim *simulation, end *peerEnd, op wire.Opcode, psn wire.PSN, payload int) {
		f := forger{sim: sim, forgedBurst: &forgedBurst{from: end.host, forgery: forgeOpcode},
			rng: newRNG(1, 1)}
		var tmpl wire.Template
		a := f.address(end.peer)
		a.TOS = 0
		require.NoError(t, tmpl.Set(a))
		_, total := tmpl.Build(f.buf[:], wire.Fields{Op: op, PSN: psn}, payload)
		tmpl.Seal(f.buf[:total])
		end.node.inject(f.buf[:total])
	}
	for _, c := range []struct {
		name string
		do   func(sim *simulation, end *peerEnd)
		want string
	}{
		{"an acknowledged packet", func(sim *simulation, end *peerEnd) {
			send(sim, end, wire.RCWriteMiddle, end.peer.qp.Query().RecvPSN.Add(wire.PSNMask), 1024)
		}, ""},
		{"a packet beyond the last PSN", func(sim *simulation, end *peerEnd) {
			send(sim, end, wire.RCSendOnly, end.lastPSN().Add(1), 8)
		}, ""},
		{"a SEND with a future PSN", func(sim *simulation, end *peerEnd) {
			send(sim, end, wire.RCSendOnly, end.peer.qp.Query().RecvPSN.Add(100), 8)
		}, "remote invalid request"},
		{"a host that exceeds its limits", func(sim *simulation, end *peerEnd) {
			for i := range 40 {
				sim.net.At(at.Add(units.Duration(i)*200*units.Nanosecond), func() {
					send(sim, end, wire.RCSendOnly, end.peer.qp.Query().RecvPSN.Add(400), 8)
				})
			}
			sim.net.At(at.Add(12*units.Microsecond), func() {
				sim.plan.traits[end.peer.host].held = 1
				end.peer.node.checkHoldings()
			})
		}, "holdings "},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := faultFreePlan(transport.OpWrite)
			p.mode.hostile, p.sessions[0].selective, p.sessions[0].sackBits = true, true,
				extension.MaxSACKBits
			expectProblem(t, p, at, c.do, c.want)
		})
	}
}

// TestForgedPSNs checks that forged PSNs are neither outstanding nor used later.
func TestForgedPSNs(t *testing.T) {
	p := faultFreePlan(transport.OpWrite)
	p.mode.hostile = true
	expectProblem(t, p, units.Time(60*units.Microsecond), func(sim *simulation, end *peerEnd) {
		at := end.peer.qp.Query()
		for _, c := range []struct {
			psn      wire.PSN
			believed bool
		}{
			{at.RecvPSN, true}, {at.RecvPSN.Add(wire.PSNMask), false}, {end.lastPSN(), true},
			{end.lastPSN().Add(1), false},
			{at.UnackedPSN, true}, {at.UnackedPSN.Add(wire.PSNMask), true},
			{end.peer.lastPSN(), true}, {end.peer.lastPSN().Add(1), false},
		} {
			assert.Equal(t, c.believed, end.peer.accepts(c.psn), "%d of %+v", c.psn, at)
		}
		for kind := range forgeries {
			f := forger{sim: sim, forgedBurst: &forgedBurst{forgery: kind, end: 1},
				rng: newRNG(1, uint64(kind))}
			for range 200 {
				if psn := f.psn(end.peer); kind != forgeStranger && kind != forgePartition {
					require.False(t, end.peer.accepts(psn))
				}
			}
		}
	}, "")
}

// TestForgedManagementMessages checks that forged requests reach a host's communication manager and
// fill it, and that the host can still dial.
func TestForgedManagementMessages(t *testing.T) {
	p := faultFreePlan(transport.OpWrite)
	p.mode.hostile = true
	const at = units.Time(60 * units.Microsecond)
	expectProblem(t, p, at, func(sim *simulation, end *peerEnd) {
		f := &forger{sim: sim, rng: newRNG(1, 1), left: 300, forgedBurst: &forgedBurst{
			from: end.peer.host, session: 0, end: slices.Index(end.session.ends[:], end),
			forgery: forgeManagement, gap: 100 * units.Nanosecond}}
		f.sendNext()
		sim.net.At(at.Add(40*units.Microsecond), func() {
			m := end.node.manager
			assert.Greater(t, m.Counters().Refused, uint64(50), "requests beyond the limits")
			assert.NotZero(t, m.Counters().Displaced, "connections of forged requests")
			assert.LessOrEqual(t, m.Len(), managerConns)
			assert.Equal(t, 1, m.dialled)
		})
	}, "")
}
