package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

// bolt20 has a window of 20000 bytes, 20 packets, and a round trip of 10 us: 16 Gb/s.
func bolt20(t testing.TB, targetQueue string) *Bolt {
	b := make1[*Bolt](t, "bolt:target_queue="+targetQueue, everything)
	b.cwnd, b.rtt = 20000, 10*us
	return b
}

// src is a report of a port at 100 Gb/s with so many packets in its queue, about a packet sent 4 us
// ago.
func src(packets int, now units.Time) *Event {
	rate := 100 * gbps
	return &Event{Kind: CST, SRC: SRC{Drain: rate.Duration(1000 * units.Bytes(packets)), Rate: rate,
		Sent: now.Add(-4 * us)}}
}

func TestBoltExample(t *testing.T) {
	b := bolt20(t, "0B")
	for _, c := range []struct{ at, want float64 }{{0, 19000}, {.5, 19000}, {1, 19000},
		{1.2, 18000}} {
		now := at(100 + c.at)
		b.On(src(25, now), now)
		assert.Equal(t, c.want, b.cwnd, "%v us", c.at)
	}
	assert.EqualValues(t, 2, b.Snapshot().Cuts[CutSwitch])

	b.cwnd = 800
	b.On(src(25, at(200)), at(200))
	assert.Equal(t, 400.0, b.cwnd)
}

func TestBoltIncreases(t *testing.T) {
	for _, c := range []struct {
		echo      BoltFlags
		increases int
		want      float64
	}{
		{0, 0, 20000}, {BoltINC, 1, 21000}, {BoltAI, 0, 21000}, {BoltAI | BoltINC, 1, 22000},
		{BoltDEC, 0, 20000}, {BoltAI | BoltDEC, 0, 21000}, {BoltINC | BoltDEC, 3, 23000},
		{BoltINC, 9, 24000}, {0, -1, 20000}, // impossible for four packets
	} {
		b := bolt20(t, "0B")
		b.gotSRC = true
		b.On(&Event{Kind: ACK, Packets: 4, Bolt: c.echo, Increases: c.increases}, at(1))
		assert.Equal(t, c.want, b.cwnd, "%05b", c.echo)
	}
}

func TestBoltLoss(t *testing.T) {
	b := bolt20(t, "0B")
	b.On(&Event{Kind: OOO}, at(100))
	assert.Equal(t, 10000.0, b.cwnd)
	b.On(&Event{Kind: RTO}, at(105))
	assert.Equal(t, 10000.0, b.cwnd, "once a round trip")
	b.On(&Event{Kind: RTO}, at(110))
	assert.Equal(t, 5000.0, b.cwnd)
}

// Tag returns the flags of a data packet.
func TestBoltTags(t *testing.T) {
	b := make1[*Bolt](t, "bolt:init_cwnd=10", everything)
	d := b.Start(0)
	assert.Equal(t, BoltFirst, d.Tag(50000), "no packet of the first window requests an increase")
	assert.Equal(t, BoltFirst|BoltLast, d.Tag(10000))
	d = b.On(rtt(10*us, 1), at(10))
	assert.Equal(t, BoltINC|BoltAI, d.Tag(50000))
	assert.Equal(t, BoltLast|BoltAI, d.Tag(10000))
	d = b.On(&Event{Kind: TX, PSN: 7, SndNxt: 8}, at(11))
	assert.Equal(t, BoltINC, d.Tag(50000), "one packet in a round trip")
	d = b.On(&Event{Kind: ACK, PSN: 8, Packets: 1, Bolt: BoltAI}, at(21))
	assert.Equal(t, BoltAI, d.Tags)
}

// Data posted after everything else was sent starts a new flow: its first window requests no
// increase, and its end frees no bandwidth for others.
func TestBoltFirstWindowOfEachBurst(t *testing.T) {
	b := bolt20(t, "0B")
	b.fresh = false
	d := b.On(&Event{Kind: POST, SndNxt: 50}, at(1))
	assert.Equal(t, BoltFirst, d.Tag(50000))
	assert.Equal(t, BoltFirst|BoltLast, d.Tag(1000))
	ev := rtt(10*us, 1)
	ev.PSN = 50
	d = b.On(ev, at(2))
	assert.Equal(t, BoltFirst, d.Tags, "that was of what was there before")
	ev.PSN = 51
	d = b.On(ev, at(3))
	assert.Equal(t, BoltLast|BoltAI, d.Tag(1000))
}

// When the packet that requested the increase is lost, another one requests it; otherwise nothing
// would ever be added.
func TestBoltRequestsIncreaseAgain(t *testing.T) {
	b := bolt20(t, "0B")
	b.fresh = false
	b.On(&Event{Kind: TX, PSN: 7, SndNxt: 8}, at(11))
	assert.Zero(t, b.On(&Event{Kind: ACK, PSN: 8, Packets: 1}, at(20)).Tags)
	assert.Equal(t, BoltAI, b.On(&Event{Kind: ACK, PSN: 9, Packets: 1}, at(21)).Tags)
}

// With switches that only mark, the acknowledgement serves as their report, a round trip later.
func TestBoltWithoutReports(t *testing.T) {
	b := bolt20(t, "0B")
	ev := src(25, at(100))
	ev.Kind, ev.Packets, ev.Bolt = ACK, 1, BoltDEC
	b.On(ev, at(100))
	assert.Equal(t, 19000.0, b.cwnd)
	b.On(src(25, at(200)), at(200))
	assert.Equal(t, 18000.0, b.cwnd)
	b.On(ev, at(300))
	assert.Equal(t, 18000.0, b.cwnd, "not when there are reports")
}

// Errors of public implementations, each avoided.

// The rate in a report belongs to the port that made it: relative to the NIC's rate a slow port
// would get less than it requests.
func TestBoltShareIsOfTheReportingPort(t *testing.T) {
	b := bolt20(t, "0B")
	slow := src(25, at(100))
	slow.SRC.Rate = 25 * gbps
	slow.SRC.Drain = slow.SRC.Rate.Duration(25000)
	b.On(slow, at(100))
	later := at(100.27) // 4/(25·.608) is 0.263 us; of 100 Gb/s it would be 1.05
	slow.SRC.Sent = later.Add(-4 * us)
	b.On(slow, later)
	assert.Equal(t, 18000.0, b.cwnd)
}

// With nothing to remove there is no division by a gap of zero or less.
func TestBoltQueueBelowTarget(t *testing.T) {
	b := bolt20(t, "30pkt")
	b.On(src(25, at(100)), at(100))
	assert.Equal(t, 20000.0, b.cwnd)
}

// A flow that must remove less than a packet per round trip waits for longer than one.
func TestBoltSmallShare(t *testing.T) {
	b := bolt20(t, "0B")
	b.cwnd = 2000 // 1.6 Gb/s: 1 of 2 packets is 4/(2·.016) = 125 us
	b.On(src(2, at(100)), at(100))
	assert.Equal(t, 1000.0, b.cwnd)
	b.cwnd = 2000
	b.On(src(2, at(200)), at(200))
	assert.Equal(t, 2000.0, b.cwnd)
	b.On(src(2, at(226)), at(226))
	assert.Equal(t, 1000.0, b.cwnd)
}

// A report of a packet that was sent more than once has no send time, and counts as one from the
// far end.
func TestBoltReportWithoutATime(t *testing.T) {
	b := bolt20(t, "0B")
	// 10/(25·.152) is 2.63 us
	for _, c := range []struct{ at, want float64 }{{100, 19000}, {102.6, 19000}, {102.7, 18000}} {
		ev := src(25, at(c.at))
		ev.SRC.Sent = 0
		b.On(ev, at(c.at))
		assert.Equal(t, c.want, b.cwnd, "%v us", c.at)
	}
}

// A report without a link, or from the future, is ignored.
func TestBoltBadReports(t *testing.T) {
	b := bolt20(t, "0B")
	b.On(&Event{Kind: CST}, at(100))
	future := src(25, at(200))
	b.On(future, at(100))
	assert.Equal(t, 20000.0, b.cwnd)
	assert.EqualValues(t, 2, b.Snapshot().Ignored)
}
