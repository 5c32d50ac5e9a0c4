package goroce

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/tocc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// benchPath is the path that the perftest programs assume for a loop.
var benchPath = cc.Path{
	LineRate: 100 * units.Gbps, BaseRTT: 20 * units.Microsecond, Payload: 4096,
	Signals: cc.SignalDelay | cc.SignalEndpoint | cc.SignalOneWay | cc.SignalMarks, Guessed: true,
}

// controlled is a stream of 64 KiB SENDs under congestion control, with both ends on this
// goroutine.
type controlled struct {
	tb   testing.TB
	ends [2]*transport.Endpoint
	qps  [2]*transport.QueuePair
	cqs  [2]*transport.CompletionQueue
	wr   transport.WorkRequest
	rr   transport.RecvRequest
	wcs  [packet.Burst]transport.WorkCompletion
	now  units.Time
	done int
}

const (
	benchMessage = 64 * 1024
	benchDepth   = 128
)

// newControlled connects the two ends. At most one of control, channel priority and tokens is used.
func newControlled(tb testing.TB, control string, priority int, tokens string) *controlled {
	c := &controlled{tb: tb, now: 1}
	ports := [2]packet.Port{}
	a, b := packet.Pipe(packet.PipeOptions{Buffers: 4096, Depth: 1024})
	ports[0], ports[1] = a, b
	addrs := [2]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}
	var offers [2]wire.Offer
	var mrs [2]*transport.MemoryRegion
	for i := range c.ends {
		ep, err := transport.New(transport.Config{Port: ports[i],
			Addrs: []netip.Prefix{netip.PrefixFrom(addrs[i], 24)}, Seed: uint64(i + 1)}, c.now)
		require.NoError(tb, err)
		pd := ep.AllocPD()
		mrs[i], err = ep.RegisterMemory(pd, make([]byte, benchMessage), transport.LocalWrite)
		require.NoError(tb, err)
		c.cqs[i], err = ep.CreateCQ(4 * benchDepth)
		require.NoError(tb, err)
		c.qps[i], err = ep.CreateQP(transport.QPInit{Type: transport.RC, PD: pd, SendCQ: c.cqs[i],
			RecvCQ: c.cqs[i], MaxSendWR: benchDepth, MaxRecvWR: 2 * benchDepth, SignalAll: true})
		require.NoError(tb, err)
		c.ends[i] = ep
		offers[i] = ep.Setup().Offer()
		if tokens != "" {
			offers[i].Features |= wire.FeatureToken
		}
	}
	for i, qp := range c.qps {
		c.control(qp, control, priority, tokens)
		require.NoError(tb,
			qp.Connect(transport.QPAttr{Path: transport.AddressVector{IP: addrs[1-i]},
				PathMTU:   4 * units.KiB,
				DestQPN:   c.qps[1-i].Num,
				Extension: wire.Agree(offers[i], offers[1-i])}))
	}
	c.wr = transport.WorkRequest{Op: transport.OpSend,
		SGList: []transport.SGE{mrs[0].SGE(0, benchMessage)}}
	c.rr = transport.RecvRequest{SGList: []transport.SGE{mrs[1].SGE(0, benchMessage)}}
	for range 2 * benchDepth {
		require.NoError(tb, c.qps[1].PostRecv(&c.rr))
	}
	for range benchDepth {
		require.NoError(tb, c.qps[0].PostSend(&c.wr))
	}
	return c
}

func (c *controlled) control(qp *transport.QueuePair, control string, priority int, tokens string) {
	spec, err := cc.Parse(control)
	require.NoError(c.tb, err)
	algorithm, err := spec.New(benchPath)
	if priority >= 0 {
		channels, parseErr := prioplus.ParseChannels("")
		require.NoError(c.tb, parseErr)
		algorithm, err = prioplus.Spec{Inner: spec, Channels: channels.Measured(),
			Priority: priority}.New(benchPath)
	}
	require.NoError(c.tb, err)
	require.NoError(c.tb, qp.Modify(transport.Init, transport.QPAttr{Algorithm: algorithm}))
	if tokens != "" {
		spec, err := tocc.Parse(tokens)
		require.NoError(c.tb, err)
		gate, granter, err := spec.New(benchPath)
		require.NoError(c.tb, err)
		require.NoError(c.tb, qp.Modify(transport.Init, transport.QPAttr{Gate: gate,
			Granters: []cc.Granter{granter}}))
	}
}

// run continues until n more messages are acknowledged. A round lasts as long as its frames would
// on a machine that moves 4 KB in some 300 ns.
func (c *controlled) run(n int) {
	for until := c.done + n; c.done < until; {
		for i, ep := range c.ends {
			before := ep.Loop().Activity()
			ep.Poll(c.now)
			c.now = c.now.Add(units.Duration(1+ep.Loop().Activity()-before) * 300 *
				units.Nanosecond)
			ep.Ended(c.now)
			for range c.cqs[i].Poll(c.wcs[:]) {
				if i == 0 {
					c.done++
					_ = c.qps[0].PostSend(&c.wr)
				} else {
					_ = c.qps[1].PostRecv(&c.rr)
				}
			}
		}
	}
}

// benchControls are the controls whose cost is compared with that of a fixed window.
var benchControls = []struct {
	name, control string
	priority      int
	tokens        string
}{
	{"fixed", "fixed", -1, ""},
	{"dcqcn", "dcqcn", -1, ""},
	{"swift", "swift", -1, ""},
	{"ledbat-dc", "ledbat-dc", -1, ""},
	{"timely", "timely", -1, ""},
	{"swift-prio", "swift", 3, ""},
	{"tocc", "fixed", -1, "tocc"},
	{"tocc-none", "fixed", -1, "cc=none"},
}

// BenchmarkControl measures the cost of a 4 KB packet at both ends together on an otherwise idle
// core: the minimum over batches. The batches of the controls alternate, so that a slowdown of the
// machine affects all.
func BenchmarkControl(b *testing.B) {
	const batch = 256
	flows := make([]*controlled, len(benchControls))
	best := make([]time.Duration, len(flows))
	took := make([]units.Duration, len(flows))
	for i, c := range benchControls {
		flows[i], best[i] = newControlled(b, c.control, c.priority, c.tokens), math.MaxInt64
		flows[i].run(4 * batch)
	}
	for b.Loop() {
		for i, f := range flows {
			began, at := time.Now(), f.now
			f.run(batch)
			best[i] = min(best[i], time.Since(began))
			took[i] += f.now.Sub(at)
		}
	}
	const packets = batch * benchMessage / 4096
	for i, c := range benchControls {
		b.ReportMetric(float64(best[i].Nanoseconds())/packets, "ns/"+c.name)
		b.ReportMetric(float64(took[i]/units.Nanosecond)/float64(b.N)/packets, "vns/"+c.name)
	}
}
