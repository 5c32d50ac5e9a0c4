package tocc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// arrive delivers packets of data.
func arrive(r cc.Granter, packets int, set cc.MarkSet, now units.Time) {
	for range packets {
		r.Arrived(&cc.Arrival{Bytes: pkt, Set: set}, now)
	}
}

// Arriving data brings as many tokens, while more is demanded, and none afterwards.
func TestDataDriven(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt,cc=none", paper)
	require.NoError(t, r.Receive(rts(60*pkt, 0), 1))
	require.Len(t, grants(r, 1), 43)
	for i := range 17 {
		arrive(r, 1, 0, 2)
		require.Len(t, grants(r, 2), 1, "packet %d", i)
	}
	r.Arrived(&cc.Arrival{Bytes: pkt, Again: true}, 3)
	assert.EqualValues(t, 17*pkt, r.spent, "a duplicate used no token")
	arrive(r, 43, 0, 3)
	assert.Empty(t, grants(r, 3))
	assert.Zero(t, r.Next(), "all that was granted has arrived")
	assert.EqualValues(t, 60*pkt, r.Stats().Granted)
}

// Without an RTS the wants-more mark brings tokens for what certainly waits: a BDP, this packet
// included.
func TestWantsMore(t *testing.T) {
	_, r := pair(t, "k=1pkt,cc=none", paper)
	arrive(r, 1, cc.MarkUnscheduled, 1)
	assert.Empty(t, grants(r, 1))
	arrive(r, 1, cc.MarkUnscheduled|cc.MarkWantsMore, 1)
	tokens := grants(r, 1)
	require.Len(t, tokens, 43)
	assert.EqualValues(t, 43*pkt, tokens[42].Limit)
	arrive(r, 1, cc.MarkWantsMore, 2)
	assert.Equal(t, units.Bytes(65800), r.demand, "what it is of 65 800 bytes is spent")
	assert.Len(t, grants(r, 2), 1)
	arrive(r, 43, cc.MarkWantsMore, 3)
	assert.Equal(t, 43*pkt+units.Bytes(65800), r.demand)
}

// Announced unscheduled packets count as in flight: tokens are sent as they arrive, not before.
func TestAfterUnscheduled(t *testing.T) {
	_, r := pair(t, "k=1pkt,cc=none", paper)
	n := rts(50*pkt, 0)
	n.Flags = cc.FlagUnscheduled
	require.NoError(t, r.Receive(n, 1))
	assert.Empty(t, grants(r, 1))
	for i := range 45 {
		arrive(r, 1, cc.MarkUnscheduled, 2)
		tokens := 1
		if i < 2 {
			tokens = 0 // 45·1538 bytes on the link exceed the window, 65 800: 42.8
		}
		require.Len(t, grants(r, 2), tokens)
	}
	_, r = pair(t, "k=1pkt,cc=none", paper)
	require.NoError(t, r.Receive(n, 1))
	assert.Len(t, grants(r, units.Time(50*us+1)), 43, "none of them arrived")
}

// K releases several packets; the last token is the remainder.
func TestAllocationRatio(t *testing.T) {
	path := cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 5264 * units.Nanosecond, Payload: 1024}
	_, r := pair(t, "unsch=0,k=4096,cc=none", path)
	require.NoError(t, r.Receive(rts(10_000, 0), 1))
	tokens := grants(r, 1)
	require.Len(t, tokens, 3)
	assert.EqualValues(t, 4096+4*82, tokens[0].Releases)
	assert.EqualValues(t, 10_000-8192+2*82, tokens[2].Releases)
	assert.EqualValues(t, 10_000, tokens[2].Limit)
	_, r = pair(t, "unsch=0,k=4096,cc=none", path)
	require.NoError(t, r.Receive(rts(units.GiB/2, 0), 1))
	assert.Len(t, grants(r, 1), 15, "65 800 / 4424 = 14.9")
}

// A receiver that gets no response to its tokens repeats the newest one after 50 us, then at
// intervals that double.
func TestRepeats(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt,cc=none", paper)
	now := units.Time(0).Add(us)
	require.NoError(t, r.Receive(rts(2*pkt, 0), now))
	require.Len(t, grants(r, now), 2)
	for _, after := range []units.Duration{50 * us, 100 * us, 200 * us, 400 * us, 800 * us,
		1600 * us, 3200 * us, 4000 * us, 4000 * us} {
		require.Empty(t, grants(r, now.Add(after-1)))
		now = now.Add(after)
		tokens := grants(r, now)
		require.Len(t, tokens, 1)
		assert.EqualValues(t, 2*pkt, tokens[0].Limit, "it never raises limit on a timer")
		assert.Equal(t, cc.FlagRepeat, tokens[0].Flags)
		assert.Zero(t, tokens[0].Releases)
	}
	n := rts(2*pkt, 2*pkt)
	n.Flags = cc.FlagRepeat | cc.FlagEnd
	require.NoError(t, r.Receive(n, now))
	assert.Zero(t, r.Next())
}

// A sender that does not know the limit is informed again, but not before a recent TOKEN can
// have arrived.
func TestLimitIsAnnouncedAgain(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt,cc=none", paper)
	require.NoError(t, r.Receive(rts(5*pkt, 0), 1))
	require.Len(t, grants(r, 1), 5)
	n := rts(5*pkt, pkt)
	n.Flags = cc.FlagRepeat
	require.NoError(t, r.Receive(n, 2))
	require.Empty(t, grants(r, units.Time(0).Add(50*us)))
	tokens := grants(r, units.Time(1).Add(50*us))
	require.Len(t, tokens, 1)
	assert.EqualValues(t, 5*pkt, tokens[0].Limit)
	assert.Zero(t, tokens[0].Flags, "it is an answer, and needs none")
}

// A sender that waits gets a reply even if there is nothing new, so that it considers the receiver
// alive.
func TestWaitingSenderGetsAReply(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt,cc=none,window=1pkt", paper)
	require.NoError(t, r.Receive(rts(5*pkt, 0), 1))
	require.Len(t, grants(r, 1), 1)
	r.control.hold = true
	n := rts(5*pkt, pkt)
	n.Flags = cc.FlagRepeat
	require.NoError(t, r.Receive(n, units.Time(60*us)))
	require.Empty(t, grants(r, units.Time(60*us)))
	tokens := grants(r, 1+units.Time(units.Millisecond))
	require.Len(t, tokens, 1)
	assert.EqualValues(t, pkt, tokens[0].Limit)
	assert.Zero(t, tokens[0].Flags)
}

// Lost data is granted again, and the TOKEN names it; both ends report it and it counts once. So do
// discarded tokens.
func TestLossAndDiscard(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt,cc=none", paper)
	require.NoError(t, r.Receive(rts(10*pkt, 0), 1))
	require.Len(t, grants(r, 1), 10)
	arrive(r, 6, 0, 2)
	r.Missing(2, 2*pkt, 2)
	n, ok := r.Emit(true, 2)
	require.True(t, ok)
	assert.True(t, n.Missing)
	assert.EqualValues(t, 11*pkt, n.Limit)
	require.NoError(t, r.Receive(rts(12*pkt, 10*pkt), 2), "the sender reports the same")
	assert.Len(t, grants(r, 2), 1)
	assert.EqualValues(t, 12*pkt, r.Stats().Granted)

	_, r = pair(t, "unsch=0,k=1pkt,cc=none,window=10pkt", paper)
	require.NoError(t, r.Receive(rts(100*pkt, 0), 1))
	require.Len(t, grants(r, 1), 10)
	n2 := rts(108*pkt, 10*pkt)
	n2.Discarded = 8 * pkt
	require.NoError(t, r.Receive(n2, 2))
	assert.Len(t, grants(r, 2), 8, "two packets are in flight, though they are spent")
	arrive(r, 2, 0, 3)
	assert.Len(t, grants(r, 3), 2)
}

// Packets that were overtaken count twice, as missing and as arrived, which the limit hides; their
// retransmissions are duplicates and do not count. The RTS behind these corrects it.
func TestRetransmissionsThatDoNotCount(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt,cc=none,window=5pkt", paper)
	require.NoError(t, r.Receive(rts(100*pkt, 0), 1))
	require.Len(t, grants(r, 1), 5)
	arrive(r, 3, 0, units.Time(60*us))
	r.Missing(2, 2*pkt, units.Time(60*us))
	arrive(r, 2, 0, units.Time(60*us))
	require.Len(t, grants(r, units.Time(60*us)), 5)

	now := units.Time(70 * us)
	arrive(r, 3, 0, now)
	for range 2 {
		r.Arrived(&cc.Arrival{Bytes: pkt, Again: true}, now)
	}
	assert.Len(t, grants(r, now), 3, "two tokens are taken to be in flight")
	require.NoError(t, r.Receive(rtsAgain(102*pkt, 10*pkt), now))
	now = now.Add(200 * us)
	r.Arrived(&cc.Arrival{Bytes: pkt, AfterRTS: true}, now)
	assert.Len(t, grants(r, now), 3)
	arrive(r, 5, 0, now)
	assert.Len(t, grants(r, now), 5, "the window again")
}

// An RTS has a queue of its own: as long as data from before it arrives, none of that is lost.
func TestRTSOvertakesData(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt,cc=none,window=5pkt", paper)
	require.NoError(t, r.Receive(rts(100*pkt, 0), 1))
	require.Len(t, grants(r, 1), 5)
	now := units.Time(300 * us)
	require.NoError(t, r.Receive(rtsAgain(100*pkt, 5*pkt), now))
	for range 5 {
		now = now.Add(40 * us)
		arrive(r, 1, 0, now)
		assert.Len(t, grants(r, now), 1, "one packet has left the queue")
	}
}

// What counts although no token was used is corrected as well.
func TestArrivalsThatUsedNoToken(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt,cc=none,window=5pkt", paper)
	require.NoError(t, r.Receive(rts(100*pkt, 0), 1))
	require.Len(t, grants(r, 1), 5)
	now := units.Time(60 * us)
	arrive(r, 1, 0, now)
	r.Missing(2, 2*pkt, now)
	arrive(r, 2, 0, now) // acknowledged before they were sent again
	require.Len(t, grants(r, now), 5, "two tokens are taken to be used that are in flight")

	require.NoError(t, r.Receive(rtsAgain(100*pkt, 3*pkt), now))
	now = now.Add(200 * us)
	arrive(r, 1, 0, now)
	assert.EqualValues(t, 4*pkt, r.spent)
	assert.Empty(t, grants(r, now))
	arrive(r, 1, 0, now)
	assert.Empty(t, grants(r, now))
	arrive(r, 1, 0, now)
	assert.Len(t, grants(r, now), 1)
}

// Without volume control every packet brings a token, until the sender reports an empty backlog.
func TestNoVolumeControl(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt,cc=none,volume=off", paper)
	require.NoError(t, r.Receive(rts(2*pkt, 0), 1))
	assert.Len(t, grants(r, 1), 43)
	arrive(r, 2, 0, 2)
	assert.Len(t, grants(r, 2), 2)
	n := rts(45*pkt, 45*pkt)
	n.Discarded, n.Flags = 43*pkt, cc.FlagEnd|cc.FlagRepeat
	require.NoError(t, r.Receive(n, 3))
	assert.Empty(t, grants(r, 3))
	assert.Zero(t, r.Next())
}

// Invalid messages change nothing.
func TestVoidRTS(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt,cc=none", paper)
	for _, n := range []cc.ControlMessage{
		{Kind: cc.TOKEN},
		{Kind: cc.RTS, Demand: 5, Spent: 1},
		{Kind: cc.RTS, Demand: 1<<32 - 5},
		{Kind: cc.RTS, Demand: 5, Discarded: 1},
	} {
		assert.Error(t, r.Receive(&n, 1), "%+v", n)
		assert.Zero(t, r.Next())
	}
}

// report is an event that an algorithm got.
type report struct {
	ev  cc.Event
	now units.Time
}

// listener records events and never changes its decision.
type listener struct{ events []report }

func (l *listener) Report(ev *cc.Event, now units.Time) {
	l.events = append(l.events, report{*ev, now})
}
func (*listener) Reschedule() {}

func (l *listener) kinds() (ks []cc.Kind) {
	for _, h := range l.events {
		ks = append(ks, h.ev.Kind)
	}
	l.events = nil
	return ks
}

func listening(t *testing.T, text string) (*Receiver, *listener) {
	_, r := pair(t, text, paper)
	l := &listener{}
	r.Attach(l)
	return r, l
}

// DCQCN gets a CNP at most once in 50 us, whichever way a mark arrives: on data, in an RTS, or as
// CE on an unscheduled packet. CE on a packet that had a token does not concern tokens.
func TestMarksAsCNPs(t *testing.T) {
	r, l := listening(t, "k=1pkt")
	require.NoError(t, r.Receive(rts(100*pkt, 0), 1))
	require.Equal(t, 43, len(grants(r, 1)))
	l.events = nil
	marked := &cc.Arrival{Bytes: pkt, Set: cc.MarkTokenMarked}
	now := units.Time(1)
	next := func() units.Time { now = now.Add(50 * us); return now }
	r.Arrived(marked, next())
	assert.Equal(t, []cc.Kind{cc.CNP}, l.kinds())
	r.Arrived(marked, now.Add(49*us))
	assert.Empty(t, l.kinds())
	r.Arrived(marked, next())
	assert.Equal(t, []cc.Kind{cc.CNP}, l.kinds())
	r.Arrived(&cc.Arrival{Bytes: pkt, Congested: true}, next())
	assert.Empty(t, l.kinds())
	r.Arrived(&cc.Arrival{Bytes: pkt, Set: cc.MarkUnscheduled, Congested: true}, now)
	assert.Equal(t, []cc.Kind{cc.CNP}, l.kinds())
	n := rts(100*pkt, 0)
	n.CE = 3
	require.NoError(t, r.Receive(n, next()))
	assert.Empty(t, l.kinds(), "three marks are known")
	n.CE = 4
	require.NoError(t, r.Receive(n, now))
	assert.Equal(t, []cc.Kind{cc.CNP}, l.kinds(), "the mark was lost with its packet")
}

// DCTCP gets an event for each used token, with the marked ones.
func TestMarksPacketForPacket(t *testing.T) {
	r, l := listening(t, "unsch=0,k=2pkt,cc=dctcp")
	require.NoError(t, r.Receive(rts(100*pkt, 0), 1))
	tokens := len(grants(r, 1))
	l.events = nil
	arrive(r, 1, 0, 2)
	assert.Empty(t, l.events, "half a token")
	arrive(r, 1, 0, 2)
	arrive(r, 1, cc.MarkTokenMarked, 2)
	arrive(r, 1, 0, 2)
	require.Len(t, l.events, 2)
	for i, want := range []cc.Event{
		{Kind: cc.RTT, Delay: 1, PSN: 1, SndNxt: uint32(tokens), Packets: 1, Bytes: 2 * pkt,
			InFlight: units.Bytes(2*tokens-2) * pkt, Left: 98 * pkt},
		{Kind: cc.RTT, Delay: 1, PSN: 2, SndNxt: uint32(tokens), Packets: 1, Bytes: 2 * pkt,
			Marked: 1, InFlight: units.Bytes(2*tokens-4) * pkt, Left: 96 * pkt},
	} {
		assert.Equal(t, want, l.events[i].ev)
	}
}

// A delay algorithm gets the time from the sending of a token to the arrival of the data that used
// it, but not for tokens that were discarded or repeated.
func TestTokenDelay(t *testing.T) {
	r, l := listening(t, "unsch=0,k=1pkt,cc=swift,window=3pkt")
	require.NoError(t, r.Receive(rts(100*pkt, 0), 1))
	require.Len(t, grants(r, 1), 3)
	at := func(d units.Duration) units.Time { return units.Time(1).Add(d) }
	arrive(r, 1, 0, at(6*us))
	require.Len(t, grants(r, at(6*us)), 1)
	arrive(r, 1, 0, at(7*us))
	r.Missing(1, pkt, at(8*us))
	arrive(r, 1, 0, at(13*us))
	require.Len(t, l.events, 3)
	for i, want := range []units.Duration{6 * us, 7 * us, 7 * us} {
		assert.Equal(t, cc.RTT, l.events[i].ev.Kind)
		assert.Equal(t, want, l.events[i].ev.Delay)
	}
	l.events = nil
	require.NotEmpty(t, grants(r, at(13*us)))
	repeated := at(70 * us)
	require.Len(t, grants(r, repeated), 1)
	arrive(r, 1, 0, repeated.Add(5*us))
	require.Equal(t, []cc.Kind{cc.ACK}, l.kinds(), "which of the two let it go?")
}

// W of a Decision is the window, on the wire, or the BDP at the rate. It is never less than a
// token; a smaller one spaces the tokens.
func TestWindowOfADecision(t *testing.T) {
	for _, c := range []struct {
		d      cc.Decision
		window units.Bytes
		gap    units.Duration
		hold   bool
	}{
		{cc.Decision{Window: 20 * pkt}, 20 * 1538, 0, false},
		{cc.Decision{Window: units.MiB, Rate: 50 * units.Gbps}, 32900, 0, false},
		{cc.Decision{Window: units.MiB, Rate: 100 * units.Gbps}, 65800, 0, false},
		{cc.Decision{Window: units.MiB, Rate: units.Gbps}, 1538, 12304 * units.Nanosecond, false},
		{cc.Decision{Window: 100, Rate: units.Gbps}, 1538, 12304 * units.Nanosecond, false},
		{cc.Decision{Window: 1 << 40}, 16 * 65800, 0, false},
		{cc.Decision{}, 1538, 0, true},
		{cc.Decision{Window: units.MiB, Hold: true}, 16 * 65800, 0, true},
	} {
		_, r := pair(t, "unsch=0,k=1pkt", paper)
		r.Apply(c.d, 1)
		assert.Equal(t, c.window, r.Window(), "%+v", c.d)
		require.NoError(t, r.Receive(rts(5*pkt, 0), 1))
		tokens := len(grants(r, 1))
		if c.hold {
			assert.Zero(t, tokens)
			assert.Zero(t, r.Next())
			continue
		}
		if c.gap > 0 {
			assert.Equal(t, 1, tokens)
			arrive(r, 1, 0, 2)
			assert.Equal(t, units.Time(1).Add(c.gap), r.Next(), "%+v", c.d)
			r.Apply(cc.Decision{Window: units.MiB, Rate: 2 * units.Gbps}, 1)
			assert.Equal(t, units.Time(1).Add(c.gap/2), r.Next(), "a new rate re-times it")
		}
	}
}

// A stopped flow probes by a TOKEN that grants nothing; the RTS that replies gives the sample. A
// probe without a reply is lost.
func TestProbes(t *testing.T) {
	r, l := listening(t, "unsch=0,k=1pkt,cc=swift")
	at := func(d units.Duration) units.Time { return units.Time(1).Add(d) }
	require.NoError(t, r.Receive(rts(50*pkt, 0), 1))
	r.Apply(cc.Decision{ProbeAt: at(10 * us)}, 1)
	l.events = nil
	assert.Empty(t, grants(r, at(9*us)))
	tokens := grants(r, at(10*us))
	require.Len(t, tokens, 1)
	assert.Equal(t, cc.FlagQuery, tokens[0].Flags)
	assert.Zero(t, tokens[0].Limit)
	r.Apply(cc.Decision{ProbeAt: at(10 * us)}, at(11*us))
	assert.Empty(t, grants(r, at(11*us)), "the same moment asks once")

	n := rts(50*pkt, 0)
	n.Flags, n.Seq = cc.FlagReply, tokens[0].Seq
	require.NoError(t, r.Receive(n, at(18*us)))
	require.Len(t, l.events, 1)
	assert.Equal(t, cc.Event{Kind: cc.RTT, Probe: true, Delay: 8 * us, Left: 50 * pkt},
		l.events[0].ev)
	require.NoError(t, r.Receive(n, at(19*us)))
	require.Len(t, l.events, 1, "a reply counts once")

	r.Apply(cc.Decision{ProbeAt: at(20 * us)}, at(19*us))
	require.Len(t, grants(r, at(20*us)), 1)
	l.events = nil
	grants(r, at(1020*us))
	require.Len(t, l.events, 1)
	assert.Equal(t, cc.RTO, l.events[0].ev.Kind)
	assert.True(t, l.events[0].ev.Probe)
}

// While the sender requests more tokens every token is a whole one; the remainder is granted with
// the packets behind.
func TestWholeTokens(t *testing.T) {
	path := cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 5264 * units.Nanosecond, Payload: 1024}
	_, r := pair(t, "unsch=0,k=8192,cc=none", path)
	one := func(set cc.MarkSet) { r.Arrived(&cc.Arrival{Bytes: 1024, Set: set}, 2) }
	require.NoError(t, r.Receive(rts(100_000, 0), 1))
	require.Len(t, grants(r, 1), 8)
	for i := range 200 {
		one(cc.MarkWantsMore)
		for _, token := range grants(r, 2) {
			assert.Zero(t, token.Limit%8192, "packet %d", i)
		}
	}
	for range 20 {
		one(0)
		grants(r, 2)
	}
	assert.Equal(t, r.demand, r.limit)
	assert.Equal(t, 200*units.Bytes(1024)+65800+8192-1024-1024, r.limit,
		"what the last packet that asked knew of")
}

// A sender that cannot send discards its tokens and reports it. It gets tokens ever more slowly,
// until data arrives.
func TestStalledSenderGetsTokensSlowly(t *testing.T) {
	_, r := pair(t, "unsch=0,k=1pkt,cc=none", paper)
	now, spent := units.Time(1), units.Bytes(0)
	waits := func() units.Duration {
		n := rts(spent+60*pkt, spent)
		n.Discarded = uint32(spent)
		require.NoError(t, r.Receive(n, now))
		begun := now
		require.NotZero(t, r.Next())
		now = max(now, r.Next())
		tokens := grants(r, now)
		require.Len(t, tokens, 43)
		spent += 43 * pkt
		return now.Sub(begun)
	}
	for i := range stallThreshold + 1 {
		require.Zero(t, waits(), "RTS %d", i)
	}
	for wait := 50 * us; wait < maxBackoff; wait *= 2 {
		require.Equal(t, wait, waits())
	}
	require.Equal(t, maxBackoff, waits())
	arrive(r, 1, 0, now)
	require.Zero(t, waits())
}
