package fabric

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// Packets take 1500 bytes on links of 100 Gb/s: 120 ns. A switch stores a frame with its check
// sequence but without preamble and gap.
const (
	mtu    = 1500
	stored = mtu - interFrame
)

// boltSwitch returns a network of two hosts and a switch whose ports run Bolt, and the switch's
// ports to both hosts.
func boltSwitch(t testing.TB, c Bolt) (n *Network, s *Switch, in, out *Port) {
	c.Frame = stored
	n = Star(Parts{Switch: SwitchConfig{Queues: Queues{{Bolt: c}}.At()}}, 2,
		Link{Rate: 100 * gbps, Delay: us})
	require.NoError(t, n.Build())
	n.now = units.Time(units.Millisecond)
	s = n.Switches()[0]
	return n, s, s.ports[0], s.ports[1]
}

// boltFrame returns a packet from host 0 to host 1 with Bolt flags, 1500 bytes on the wire.
func boltFrame(t testing.TB, n *Network, flags extension.BoltFlags) *frame {
	var tmpl wire.Template
	a, b := n.Host(0), n.Host(1)
	require.NoError(t,
		tmpl.Set(wire.Address{SrcMAC: a.mac(), DstMAC: b.mac(), Src: a.Addrs()[0].Addr(),
			Dst:     b.Addrs()[0].Addr(),
			SrcPort: 0xc001, DestQP: 0x22}))
	f := n.newFrame(&a.nic)
	room := f.mem[:stored-frameCheck]
	payload := (len(room) - tmpl.Overhead() - int(wire.XDATA.Info().Ext) - wire.ICRCLen) &^ 3
	ext, total := tmpl.Build(room, wire.Fields{Op: wire.XDATA, PSN: 9}, payload)
	wire.View[wire.XCH](room[ext:]).Set(0x1234, extension.BoltLen)
	wire.SetInner(room[ext+wire.XCHLen:], wire.RCSendOnly)
	extension.Bolt(room[ext+wire.XCHLen+wire.InnerLen:][:extension.BoltLen]).Set(flags, 0x51)
	tmpl.Seal(room[:total])
	n.label(f, room) // two bytes longer than the IP datagram
	require.EqualValues(t, mtu, f.wire)
	return f
}

func flagsOf(f *frame) extension.BoltFlags {
	return extension.AsBolt(wire.SwitchTLV(f.mem[:f.len])).Flags()
}

const (
	first = extension.BoltFirst
	last  = extension.BoltLast
	inc   = extension.BoltINC
	dec   = extension.BoltDEC
	ai    = extension.BoltAI
)

// TestBoltSupplyMatching tests grants by an empty queue without ending flows, with avail bytes of
// supply left after the packet itself is subtracted.
func TestBoltSupplyMatching(t *testing.T) {
	for _, c := range []struct {
		packets       units.Bytes // maximum supply
		avail         units.Bytes
		flags, become extension.BoltFlags
		left          units.Bytes
	}{
		{2, 1400, inc, 0, 1400},
		{2, 1600, inc, inc, 100},
		{2, 1600, inc | ai, inc | ai, 100},
		{2, 9000, inc, inc, 1500},
		{2, 1600, 0, 0, 1600},
		{2, 1600, first, first, 1600},
		{2, -5000, inc, 0, -5000},
		{1, 1499, inc, 0, 1499},
		{1, 1500, inc, inc, 0},
		{1, 9000, inc, inc, 0},
	} {
		n, s, in, out := boltSwitch(t, Bolt{Supply: c.packets * stored})
		q, f := &out.queues[0], boltFrame(t, n, c.flags)
		q.bolt.at = n.now.Add(-us)
		q.bolt.avail = 80*units.Duration(c.avail+mtu) - us // one microsecond of supply is added
		s.applyBolt(in, out, q, f)
		assert.Equal(t, c.become, flagsOf(f), "%+v", c)
		assert.Equal(t, 80*units.Duration(c.left), q.bolt.avail, "%+v", c)
	}
}

// TestBoltSupplyOfABurst checks that arrivals beyond the link rate, also of packets without Bolt,
// are subtracted from the supply until the link has made up for them.
func TestBoltSupplyOfABurst(t *testing.T) {
	n, s, in, out := boltSwitch(t, Bolt{})
	q := &out.queues[0]
	plain := boltFrame(t, n, 0)
	plain.mem[14+20+8] = byte(wire.RCSendOnly)
	for range 11 { // at once: the maximum supply and ten more
		s.applyBolt(in, out, q, plain)
	}
	assert.Equal(t, -9*120*ns, q.bolt.avail)
	n.now = n.now.Add(11*120*ns - 1) // the deficit of nine, the next packet itself, and one more
	f := boltFrame(t, n, inc)
	s.applyBolt(in, out, q, f)
	assert.Zero(t, flagsOf(f), "a picosecond too early")
	n.now = n.now.Add(120*ns + 1)
	f = boltFrame(t, n, inc)
	s.applyBolt(in, out, q, f)
	assert.Equal(t, inc, flagsOf(f))
	assert.Zero(t, q.bolt.avail)
	assert.EqualValues(t, 1, q.stats.Granted)
	assert.EqualValues(t, 1, q.stats.Denied)
}

// TestBoltProactiveRampUp checks that a packet of a flow's last window grants a packet of another
// flow without supply, unless it is also of the flow's first window.
func TestBoltProactiveRampUp(t *testing.T) {
	n, s, in, out := boltSwitch(t, Bolt{})
	q := &out.queues[0]
	pass := func(flags extension.BoltFlags) extension.BoltFlags {
		f := boltFrame(t, n, flags)
		s.applyBolt(in, out, q, f)
		return flagsOf(f)
	}
	pass(0) // uses up the supply; time does not advance
	assert.Equal(t, first|last, pass(first|last))
	assert.Zero(t, pass(inc))
	assert.Equal(t, last, pass(last))
	assert.Equal(t, last, pass(last))
	assert.Equal(t, 0, int(pass(0)), "takes no grant")
	assert.Equal(t, inc, pass(inc))
	assert.Equal(t, inc|ai, pass(inc|ai))
	assert.Zero(t, pass(inc), "both grants are used")
	for range 300 {
		pass(last)
	}
	assert.Equal(t, 256, q.bolt.ending)
}

// TestBoltReports checks that a packet that arrives behind two others is reported once on its path
// and loses INC.
func TestBoltReports(t *testing.T) {
	for _, c := range []struct {
		before        int // frames in the queue
		flags, become extension.BoltFlags
		was, becomes  units.Duration // drain time before and after
		reports       uint64
	}{
		{0, inc, inc, 0, 0, 0},
		{1, inc, inc, 0, 0, 0},
		{2, inc, dec, 0, 240 * ns, 1},
		{3, inc | ai, dec | ai, 0, 360 * ns, 1},
		{3, last, last | dec, 0, 360 * ns, 1},
		{3, first, first | dec, 0, 360 * ns, 1},
		{3, 0, dec, 300 * ns, 360 * ns, 0},
		{3, 0, dec, 400 * ns, 400 * ns, 0},
	} {
		n, s, in, out := boltSwitch(t, Bolt{})
		q := &out.queues[0]
		for range c.before {
			out.enqueue(boltFrame(t, n, 0), 0)
		}
		f := boltFrame(t, n, c.flags)
		if c.was > 0 {
			extension.AsBolt(wire.SwitchTLV(f.mem[:f.len])).Congest(
				extension.QueueReport{Drain: c.was, Rate: 25 * gbps})
		}
		s.applyBolt(in, out, q, f)
		assert.Equal(t, c.become, flagsOf(f), "%+v", c)
		assert.Equal(t, c.becomes, extension.AsBolt(wire.SwitchTLV(f.mem[:f.len])).Report().Drain,
			"%+v", c)
		assert.Equal(t, c.reports, q.stats.Reported, "%+v", c)
		assert.Equal(t, c.reports, n.Ledger().Reported)
		if c.reports == 0 {
			continue
		}
		src := in.wire.first().f // already on the wire: the queue was empty
		require.NotNil(t, src)
		var p wire.Packet
		require.NoError(t, p.Parse(src.mem[:src.len]))
		assert.True(t, p.ICRC())
		assert.Equal(t, wire.SRC, p.Op)
		assert.Equal(t, extension.QueueReport{Drain: c.becomes, Rate: 100 * gbps},
			extension.Report(p.Body()))
		assert.EqualValues(t, 0, src.dst)
		assert.EqualValues(t, 7, src.prio)
	}
}

func TestBoltReportsEveryNth(t *testing.T) {
	n, s, in, out := boltSwitch(t, Bolt{Every: 3})
	q := &out.queues[0]
	out.enqueue(boltFrame(t, n, 0), 0)
	out.enqueue(boltFrame(t, n, 0), 0)
	var reported []uint64
	for range 7 {
		s.applyBolt(in, out, q, boltFrame(t, n, 0))
		reported = append(reported, q.stats.Reported)
	}
	assert.Equal(t, []uint64{1, 1, 1, 2, 2, 2, 3}, reported)
	assert.EqualValues(t, 7, q.stats.Congested)
}

func TestBoltConfiguration(t *testing.T) {
	for _, c := range []struct {
		bolt Bolt
		ok   bool
	}{
		{Bolt{}, true}, {Bolt{Frame: 1500}, true}, {Bolt{Frame: 1500, Threshold: 1, Supply: 1500,
			Every: 2}, true},
		{Bolt{Threshold: 3000}, false}, {Bolt{Frame: -1}, false}, {Bolt{Frame: 1500, Every: -1},
			false}, {Bolt{Frame: 1500, Supply: 1499}, false},
	} {
		n := Star(Parts{Switch: SwitchConfig{Queues: Queues{3: {Bolt: c.bolt}}.At()}}, 2,
			Link{Rate: gbps})
		assert.Equal(t, c.ok, n.Build() == nil, "%+v", c.bolt)
		if c.ok {
			assert.Equal(t, c.bolt.Frame > 0, n.Bolt(0, 1, 24<<2), "%+v", c.bolt)
			assert.False(t, n.Bolt(0, 1, 0), "another queue")
		}
	}
}

// sender sends its frames at once and records when the first report arrives.
type sender struct {
	host  *Host
	burst []packet.Buf
	back  units.Time
}

func (s *sender) Poll(now units.Time) units.Time {
	if len(s.burst) > 0 {
		s.burst = s.burst[s.host.nic.Send(packet.ClassData, s.burst):]
	}
	var bufs [32]packet.Buf
	k := s.host.nic.Recv(bufs[:])
	if k > 0 && s.back == 0 {
		s.back = bufs[0].Time
	}
	s.host.nic.Free(bufs[:k])
	return now.Add(units.Forever)
}

// TestBoltReportIsBackEarly checks that a report overtakes queued frames and arrives after one
// round trip to the switch. Four frames arrive at once from four senders: one leaves, two wait, and
// the fourth is reported.
func TestBoltReportIsBackEarly(t *testing.T) {
	p := Parts{Host: HostConfig{TxDepth: 40},
		Switch: SwitchConfig{Queues: Queues{{Bolt: Bolt{Frame: stored}}}.At()}}
	n := Star(p, 5, Link{Rate: 100 * gbps, Delay: 2 * us})
	require.NoError(t, n.Build())
	var senders []*sender
	for i := range 4 {
		h := n.Host(i)
		f := boltFrame(t, n, inc)
		data := f.mem[:f.len]
		src, dst := h.mac(), n.Host(4).mac()
		copy(data, dst[:])
		copy(data[6:], src[:])
		n.giveBack(f)
		s := &sender{host: h}
		var b [1]packet.Buf
		h.nic.Alloc(b[:])
		b[0].SetLen(copy(b[0].Room(), data))
		s.burst = b[:]
		h.Run(s)
		senders = append(senders, s)
	}
	n.Host(4).Run(&sender{host: n.Host(4)})
	require.NoError(t, n.Run(units.Time(units.Millisecond)))
	for i, s := range senders[:3] { // none arrives behind two others
		assert.Zero(t, s.back, i)
	}
	// 1500 bytes to the switch, 2 us, and 14+20+8+12+4+8+4+24 = 94 bytes back: 120 ns, 7.52 ns and
	// 4 us.
	assert.Equal(t, units.Time(0).Add(4*us+120*ns+7520*units.Picosecond), senders[3].back)
	q := n.Switches()[0].ports[4].QueueStats(0)
	assert.EqualValues(t, 1, q.Reported)
	assert.EqualValues(t, 1, n.Ledger().Reported)
}
