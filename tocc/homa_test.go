package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// bell counts calls of Reschedule.
type bell struct{ calls int }

func (b *bell) Report(*cc.Event, units.Time) {}
func (b *bell) Reschedule()                  { b.calls++ }

// receivers returns some receivers of one endpoint.
func receivers(t *testing.T, text string, n int) (rs []*Receiver, bells []*bell) {
	e := parse(t, text).Endpoint()
	for range n {
		_, granter, err := e.New(paper)
		require.NoError(t, err)
		b := &bell{}
		granter.Attach(b)
		rs, bells = append(rs, granter.(*Receiver)), append(bells, b)
	}
	return rs, bells
}

// The example has packets of 1456 bytes, 43 of them in flight, and a message of 100 packets, of
// which 45 are unscheduled. After the packets that arrive as many are always in flight, and the
// last grant ends with the last byte.
func TestHomaKeepsRTTBytes(t *testing.T) {
	rs, _ := receivers(t, "homa", 1)
	r := rs[0]
	n := rts(55*pkt, 0)
	n.Flags = cc.FlagUnscheduled
	require.NoError(t, r.Receive(n, 1))
	assert.Empty(t, grants(r, 1))
	granted := 0
	for i := range 100 {
		set := cc.MarkSet(0)
		if i < 45 {
			set = cc.MarkUnscheduled
		}
		arrive(r, 1, set, 2)
		for _, token := range grants(r, 2) {
			granted++
			assert.EqualValues(t, granted*pkt, token.Limit, "a grant a packet")
			assert.Zero(t, token.Releases, "nothing spaces grants")
		}
		assert.Equal(t, min(55, max(0, i+1+43-45)), granted, "packet %d", i)
	}
}

// The shortest messages of an endpoint are granted, as many as overcommit allows. The shortest has
// the highest of as few priorities as there are messages. When one ends the next one is
// rescheduled.
func TestHomaSRPT(t *testing.T) {
	rs, bells := receivers(t, "homa:overcommit=2,unsch=0", 4)
	for i, packets := range []units.Bytes{400, 300, 100, 200} {
		require.NoError(t, rs[i].Receive(rts(packets*pkt, 0), 1))
	}
	granted := func(i int) (tokens int, priority uint8) {
		for _, n := range grants(rs[i], 5) {
			tokens, priority = tokens+1, n.Priority
		}
		return tokens, priority
	}
	for i, want := range []struct {
		tokens   int
		priority uint8
	}{{0, 0}, {0, 0}, {43, 1}, {43, 0}} {
		tokens, priority := granted(i)
		assert.Equal(t, want.tokens, tokens, "message %d", i)
		assert.Equal(t, want.priority, priority, "message %d", i)
	}
	for range 57 { // message 2 is completely granted: that of 300 packets is next
		arrive(rs[2], 1, 0, 2)
		granted(2)
	}
	assert.Equal(t, 1, bells[1].calls)
	assert.NotZero(t, rs[1].Next())
	tokens, priority := granted(1)
	assert.Equal(t, 43, tokens)
	assert.Zero(t, priority, "200 packets are fewer")
	assert.Zero(t, bells[0].calls)

	arrive(rs[2], 43, 0, 3)
	require.NoError(t, rs[2].Receive(rts(150*pkt, 100*pkt), 3), "a new message of 50 packets")
	tokens, priority = granted(2)
	assert.Equal(t, 43, tokens)
	assert.EqualValues(t, 1, priority)
	arrive(rs[1], 1, 0, 3)
	assert.Empty(t, grants(rs[1], 3), "it has stepped back")
}

// A message that ended does not remain in the schedule.
func TestHomaDropsEndedMessages(t *testing.T) {
	rs, _ := receivers(t, "homa:overcommit=1,unsch=0", 100)
	for round := range 3 {
		for i, r := range rs {
			require.NoError(t,
				r.Receive(rts(units.Bytes((round+1)*10)*pkt, units.Bytes(round*10)*pkt),
					1), "%d", i)
		}
		for pass := 0; len(rs[0].shared.top)+len(rs[0].shared.waiting) > 0; pass++ {
			require.Less(t, pass, 200)
			for _, r := range rs {
				arrive(r, len(grants(r, 2)), 0, 2)
			}
		}
	}
	for _, r := range rs {
		assert.EqualValues(t, 30*pkt, r.Stats().Granted)
	}
}

// Unscheduled packets have priorities above those of grants, by the size of their message;
// scheduled ones have the priority of the grant.
func TestHomaPriorities(t *testing.T) {
	for _, c := range []struct {
		size  int
		level uint8
	}{{1, 7}, {2, 7}, {3, 6}, {10, 6}, {11, 5}, {1000, 5}} {
		d := newDesk(t, "homa:overcommit=4,cutoffs=3KB/15KB")
		d.post(c.size)
		marks := d.take()
		assert.Equal(t, c.level<<5|0b10, marks[0].TrafficClass, "%d packets", c.size)
		assert.True(t, marks[0].Classed)
	}
	d := newDesk(t, "homa:unsch=0")
	d.post(3)
	d.checkRTS(3, 0, 0, 0)
	n := cc.ControlMessage{Kind: cc.TOKEN, Limit: 3 * pkt, Priority: 4}
	require.NoError(t, d.gate.Receive(&n, d.backlog(), d.now))
	for _, m := range d.take() {
		assert.EqualValues(t, 4<<5|0b10, m.TrafficClass)
	}
}

// NDP pulls a packet for each packet or trimmed header that arrives, at line rate, and names the
// trimmed ones.
func TestNDPPulls(t *testing.T) {
	rs, _ := receivers(t, "ndp", 1)
	r := rs[0]
	n := rts(55*pkt, 0)
	n.Flags = cc.FlagUnscheduled
	require.NoError(t, r.Receive(n, 1))
	arrive(r, 2, cc.MarkUnscheduled, 1)
	for range 20 {
		r.Missing(1, pkt, 1)
		token, ok := r.Emit(true, 1)
		require.True(t, ok, "a header pulls, too")
		assert.True(t, token.Missing)
		assert.EqualValues(t, 1538-94, token.Releases, "with the TOKEN a packet at line rate")
		arrive(r, 1, cc.MarkUnscheduled, 1)
		_, ok = r.Emit(true, 1)
		require.True(t, ok)
	}
	assert.Equal(t, 75*pkt, int(r.demand), "20 packets more than before")
}

// The message of a connection that ended makes room for the next one.
func TestHomaDropsEndedConnections(t *testing.T) {
	rs, bells := receivers(t, "homa:overcommit=1,unsch=0", 3)
	for i, r := range rs {
		require.NoError(t, r.Receive(rts(units.Bytes(100+i)*pkt, 0), 1))
	}
	require.NotEmpty(t, grants(rs[0], 1))
	rs[1].Attach(nil)
	assert.Empty(t, grants(rs[2], 2), "the first still has its turn")
	rs[0].Attach(nil)
	assert.Equal(t, 1, bells[2].calls)
	assert.Zero(t, bells[1].calls)
	assert.NotEmpty(t, grants(rs[2], 3))
}

// A short message whose sender is silent makes room for a longer one, and returns when its sender
// does.
func TestHomaSkipsSilentSenders(t *testing.T) {
	rs, _ := receivers(t, "homa:overcommit=1,unsch=0", 2)
	now := units.Time(1)
	require.NoError(t, rs[0].Receive(rts(1*pkt, 0), now))
	require.NotEmpty(t, grants(rs[0], now))
	served := false
	for i := 0; i < 40 && !served; i++ {
		now = now.Add(units.Millisecond)
		grants(rs[0], now)
		n := rts(100*pkt, 0)
		n.Flags = cc.FlagRepeat
		require.NoError(t, rs[1].Receive(n, now))
		for _, token := range grants(rs[1], now) {
			served = served || token.Limit > 0
		}
	}
	assert.True(t, served)
	require.NoError(t, rs[0].Receive(rts(3*pkt, 1*pkt), now))
	assert.NotEmpty(t, grants(rs[0], now), "the shortest again")
}
