package fabric

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// The numbers are in packets of 1500 bytes on links of 100 Gb/s: 120 ns. A frame's check sequence
// counts in a switch, preamble and gap do not.
const (
	mtu    = 1500
	stored = mtu - betweenSpace
)

// boltSwitch is two hosts and a switch at the present time, whose port to the second host runs
// Bolt.
func boltSwitch(t testing.TB, c Bolt) (n *Network, s *Switch, in, out *Port) {
	c.Frame = stored
	n = Star(Parts{Switch: SwitchConfig{Queues: Queues{{Bolt: c}}.At()}}, 2,
		Link{Rate: 100 * gbps, Delay: us})
	require.NoError(t, n.Build())
	n.now = units.Time(units.Millisecond)
	s = n.Switches()[0]
	return n, s, s.ports[0], s.ports[1]
}

// boltFrame is a packet of 1500 bytes on the link from host 0 to host 1, with flags.
func boltFrame(t testing.TB, n *Network, flags wire.BoltFlags) *frame {
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
	wire.XCH(room[ext:]).Set(0x1234, wire.BoltLen)
	wire.SetInner(room[ext+wire.XCHLen:], wire.RCSendOnly)
	wire.Bolt(room[ext+wire.XCHLen+wire.InnerLen:][:wire.BoltLen]).Set(flags, 0x51)
	tmpl.Seal(room[:total])
	n.label(f, room) // two bytes more than IP has
	require.EqualValues(t, mtu, f.wire)
	return f
}

func flagsOf(f *frame) wire.BoltFlags { return wire.FindBolt(f.mem[:f.len]).Flags() }

const (
	first = wire.BoltFirst
	last  = wire.BoltLast
	inc   = wire.BoltINC
	dec   = wire.BoltDEC
	ai    = wire.BoltAI
)

// An example: a queue that is empty, no flow that ends, and this much supply once the packet itself
// is taken off it, of bytes on the link.
func TestBoltSupplyMatching(t *testing.T) {
	for _, c := range []struct {
		packets       units.Bytes // of supply at most
		avail         units.Bytes
		flags, become wire.BoltFlags
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
		q.bolt.avail = 80*units.Duration(c.avail+mtu) - us // a microsecond of the link comes to it
		s.bolt(in, out, q, f)
		assert.Equal(t, c.become, flagsOf(f), "%+v", c)
		assert.Equal(t, 80*units.Duration(c.left), q.bolt.avail, "%+v", c)
	}
}

// What a link has to carry beyond its rate takes the supply for as long as it takes to make up for
// it, whether or not it is of flows that Bolt controls.
func TestBoltSupplyOfABurst(t *testing.T) {
	n, s, in, out := boltSwitch(t, Bolt{})
	q := &out.queues[0]
	plain := boltFrame(t, n, 0)
	plain.mem[14+20+8] = byte(wire.RCSendOnly)
	for range 11 { // at once: all there may be, and then ten too many
		s.bolt(in, out, q, plain)
	}
	assert.Equal(t, -9*120*ns, q.bolt.avail)
	n.now = n.now.Add(11*120*ns - 1) // for nine, for the next packet itself, and one more
	f := boltFrame(t, n, inc)
	s.bolt(in, out, q, f)
	assert.Zero(t, flagsOf(f), "a picosecond too early")
	n.now = n.now.Add(120*ns + 1)
	f = boltFrame(t, n, inc)
	s.bolt(in, out, q, f)
	assert.Equal(t, inc, flagsOf(f))
	assert.Zero(t, q.bolt.avail)
	assert.EqualValues(t, 1, q.stats.Granted)
	assert.EqualValues(t, 1, q.stats.Denied)
}

// A packet of a flow's last window leaves room for one of another's, without supply; one of a flow
// that has had no other window does not.
func TestBoltProactiveRampUp(t *testing.T) {
	n, s, in, out := boltSwitch(t, Bolt{})
	q := &out.queues[0]
	pass := func(flags wire.BoltFlags) wire.BoltFlags {
		f := boltFrame(t, n, flags)
		s.bolt(in, out, q, f)
		return flagsOf(f)
	}
	pass(0) // the supply is gone, and nothing comes to it
	assert.Equal(t, first|last, pass(first|last))
	assert.Zero(t, pass(inc))
	assert.Equal(t, last, pass(last))
	assert.Equal(t, last, pass(last))
	assert.Equal(t, 0, int(pass(0)), "takes nothing")
	assert.Equal(t, inc, pass(inc))
	assert.Equal(t, inc|ai, pass(inc|ai))
	assert.Zero(t, pass(inc), "there were two")
	for range 300 {
		pass(last)
	}
	assert.Equal(t, 256, q.bolt.leaving)
}

// A packet that finds two others is reported, once on its way; it asks for no more.
func TestBoltReports(t *testing.T) {
	for _, c := range []struct {
		before        int // frames in the queue
		flags, become wire.BoltFlags
		was, becomes  units.Duration // what an earlier switch wrote; what it says then
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
			wire.FindBolt(f.mem[:f.len]).Congest(wire.QueueReport{Drain: c.was, Rate: 25 * gbps})
		}
		s.bolt(in, out, q, f)
		assert.Equal(t, c.become, flagsOf(f), "%+v", c)
		assert.Equal(t, c.becomes, wire.FindBolt(f.mem[:f.len]).Report().Drain, "%+v", c)
		assert.Equal(t, c.reports, q.stats.Reported, "%+v", c)
		assert.Equal(t, c.reports, n.Ledger().Reported)
		if c.reports == 0 {
			continue
		}
		src := in.wire.head // on its way already: nothing is before it
		require.NotNil(t, src)
		var p wire.Packet
		require.NoError(t, p.Parse(src.mem[:src.len]))
		assert.True(t, p.ICRC())
		assert.Equal(t, wire.SRC, p.Op)
		assert.Equal(t, wire.QueueReport{Drain: c.becomes, Rate: 100 * gbps}, p.Report())
		assert.EqualValues(t, 0, src.dst)
		assert.EqualValues(t, 7, src.prio)
	}
}

func TestBoltReportsEachSoManyth(t *testing.T) {
	n, s, in, out := boltSwitch(t, Bolt{Every: 3})
	q := &out.queues[0]
	out.enqueue(boltFrame(t, n, 0), 0)
	out.enqueue(boltFrame(t, n, 0), 0)
	var reported []uint64
	for range 7 {
		s.bolt(in, out, q, boltFrame(t, n, 0))
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

// sender sends frames at once and takes down when the first report is back.
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

// The report passes what waits on its way, and the sender knows after a round trip to the switch.
// Here four frames come at once from as many senders: one leaves, two wait, the fourth finds them.
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
	for i, s := range senders[:3] { // one goes at once, two wait: nobody finds two
		assert.Zero(t, s.back, i)
	}
	// 1500 bytes to the switch, 2 us, and 14+20+8+12+4+8+4+24 = 94 bytes back: 120 ns, 7.52 ns and
	// 4 us.
	assert.Equal(t, units.Time(0).Add(4*us+120*ns+7520*units.Picosecond), senders[3].back)
	q := n.Switches()[0].ports[4].QueueStats(0)
	assert.EqualValues(t, 1, q.Reported)
	assert.EqualValues(t, 1, n.Ledger().Reported)
}
