package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

// paper is the path of the paper's simulations: packets of 1538 bytes on the wire, and a BDP of
// 65.8 KB.
var paper = cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 5264 * units.Nanosecond, Payload: 1456}

func parse(t testing.TB, text string) Spec {
	s, err := Parse(text)
	require.NoError(t, err)
	return s
}

func pair(t testing.TB, text string, path cc.Path) (*Sender, *Receiver) {
	gate, granter, err := parse(t, text).New(path)
	require.NoError(t, err)
	return gate.(*Sender), granter.(*Receiver)
}

// grants returns all TOKENs that may be sent now.
func grants(r cc.Granter, now units.Time) (tokens []cc.ControlMessage) {
	for at := r.Next(); at != 0 && !at.After(now); at = r.Next() {
		if n, ok := r.Emit(false, now); ok {
			tokens = append(tokens, n)
		}
	}
	return tokens
}

func rts(demand, spent units.Bytes) *cc.ControlMessage {
	return &cc.ControlMessage{Kind: cc.RTS, Demand: uint32(demand), Spent: uint32(spent)}
}

// rtsAgain is an RTS behind retransmissions.
func rtsAgain(demand, spent units.Bytes) *cc.ControlMessage {
	n := rts(demand, spent)
	n.Flags = cc.FlagAgain
	return n
}

// An RTS brings tokens for one BDP: 65.8 KB / 1538 = 42.8, so 43; and never more than are needed:
// 20 for a flow of 20 packets.
func TestFirstTokens(t *testing.T) {
	for _, c := range []struct{ packets, tokens int }{{20, 20}, {43, 43}, {44, 43}, {1000, 43}} {
		_, r := pair(t, "unsch=0,k=1pkt,cc=none", paper)
		require.NoError(t, r.Receive(rts(units.Bytes(c.packets)*1456, 0), 1))
		tokens := grants(r, 1)
		assert.Len(t, tokens, c.tokens, "%d packets", c.packets)
		last := tokens[len(tokens)-1]
		assert.EqualValues(t, c.tokens*1456, last.Limit)
		assert.EqualValues(t, 1538, last.Releases)
		assert.EqualValues(t, 44<<2|0b10, last.TrafficClass)
	}
}

// DCQCN over tokens: an echo with alpha 1 halves the rate and so W, to 32.9 KB, which is 21.4
// tokens: at most 22 are in flight. One step of recovery later W is 49.35 KB, 32.1 tokens: 33.
func TestWindowOfARate(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt", paper)
	var inline cc.Inline
	flow := inline.Add(r.Algorithm(), 0)
	r.Attach(driver{&inline, flow, r})
	d, _ := inline.Decision(flow)
	r.Apply(d, 0)
	require.NoError(t, r.Receive(rts(1000*1456, 0), 1))
	require.Len(t, grants(r, 1), 43)

	under := 43
	r.Arrived(&cc.Arrival{Bytes: 1456, Set: cc.MarkTokenMarked}, 2)
	under--
	require.EqualValues(t, 32900, r.Window())
	for range 20 {
		r.Arrived(&cc.Arrival{Bytes: 1456}, 2)
		under--
		require.Empty(t, grants(r, 2), "%d in flight", under)
	}
	r.Arrived(&cc.Arrival{Bytes: 1456}, 2)
	require.Len(t, grants(r, 2), 1, "21 in flight")

	now := units.Time(0).Add(60 * us)
	inline.Poll(now)
	d, _ = inline.Decision(flow)
	require.EqualValues(t, 75*units.Gbps, d.Rate)
	r.Apply(d, now)
	require.EqualValues(t, 49350, r.Window())
	require.Len(t, grants(r, now), 11, "33 in flight")
}

// driver is the transport's part in token CC.
type driver struct {
	inline *cc.Inline
	flow   cc.Flow
	r      *Receiver
}

func (d driver) Report(ev *cc.Event, now units.Time) {
	ev.Flow = d.flow
	d.inline.Report(ev, now)
	if dec, ok := d.inline.Decision(d.flow); ok {
		d.r.Apply(dec, now)
	}
}

func (driver) Reschedule() {}
