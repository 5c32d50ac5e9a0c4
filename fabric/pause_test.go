package fabric_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// headroomRun lets a host send to another, which takes nothing, through a switch with this much
// headroom. A third sends one frame the other way, which the switch begins to forward at the time
// against. It answers the frames dropped, and when the threshold was crossed.
func headroomRun(t testing.TB, rate units.BitRate, delay units.Duration, frame int,
	headroom units.Bytes, against units.Time) (dropped uint64, crossed units.Time) {
	const xoff = 50_000
	var qs fabric.Queues
	qs[0] = fabric.Queue{Lossless: true, Limit: xoff, Headroom: headroom}
	n := fabric.Star(fabric.Parts{
		Config: fabric.Config{MTU: 9000},
		Switch: fabric.SwitchConfig{Buffer: 4 * units.MiB, Queues: qs.At()},
	}, 3, fabric.Link{Rate: rate, Delay: delay})
	require.NoError(t, n.Build())
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: frame, Dst: 1}, 0), nil)
	openloop.Put(n, n.Host(1), nil, nil)
	n.Host(1).NIC().Ports()[0].Storm(0, true)
	at := against.Add(-rate.Duration(wireBytes(frame)) - delay)
	openloop.Put(n, n.Host(2), backlog(openloop.Frame{At: at, Len: frame, Dst: 0, DSCP: 8}, 1), nil)
	out := n.Switches()[0].Ports()[1]
	out.Watch(0, func(now units.Time, length units.Bytes) {
		if length > xoff && crossed == 0 {
			crossed = now
		}
	})
	run(t, n, 100*units.Microsecond+20*delay)
	return out.QueueStats(0).Dropped, crossed
}

const never = units.Time(units.Second)

// TestHeadroomIsTight: nothing is lost with the headroom that the formula gives, and with a frame
// less something is.
func TestHeadroomIsTight(t *testing.T) {
	for _, c := range []struct {
		rate  units.BitRate
		delay units.Duration
		frame int
	}{
		{100 * units.Gbps, units.Microsecond, 1500},
		{100 * units.Gbps, 3 * units.Microsecond, 4154},
		{400 * units.Gbps, units.Microsecond, 4154},
		{10 * units.Gbps, 10 * units.Microsecond, 1082},
		{25 * units.Gbps, 500 * units.Nanosecond, 9000},
	} {
		t.Run(fmt.Sprintf("%v-%v-%d", c.rate, c.delay, c.frame), func(t *testing.T) {
			mtu := stored(c.frame)
			tight := fabric.Headroom(c.rate, c.delay, c.delay, mtu, 480)
			_, crossed := headroomRun(t, c.rate, c.delay, c.frame, tight, never)
			require.NotZero(t, crossed)
			// the other way a frame has just begun when the pause wants to leave
			worst := crossed - 1
			lost, _ := headroomRun(t, c.rate, c.delay, c.frame, tight, worst)
			assert.Zero(t, lost)
			lost, _ = headroomRun(t, c.rate, c.delay, c.frame, tight-mtu, worst)
			assert.NotZero(t, lost)
		})
	}
}

// pausing is a switch whose host 2 receives from 0 and 1 what its queue 0 takes only with pauses.
func pausing(t *testing.T) *fabric.Network {
	var qs fabric.Queues
	qs[0] = fabric.Queue{Lossless: true, Limit: 20_000, Headroom: 100_000, Resume: 5_000}
	qs[1] = fabric.Queue{}
	n := fabric.Star(fabric.Parts{Switch: fabric.SwitchConfig{Buffer: units.MiB, Queues: qs.At()}},
		3, fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
	require.NoError(t, n.Build())
	return n
}

func TestPauseLosesNothingAndHoldsOnlyItsClass(t *testing.T) {
	n := pausing(t)
	senders := []*openloop.Station{}
	for i := range 2 {
		data, ack := backlog(openloop.Frame{Len: 1082, Dst: 2}, 2000), 0
		senders = append(senders, openloop.Put(n, n.Host(i), func() (openloop.Frame, bool) {
			if ack++; ack%10 == 0 {
				return openloop.Frame{Len: 60, Dst: 2, DSCP: 8, Class: packet.ClassAck}, true
			}
			return data()
		}, nil))
	}
	sink := openloop.Put(n, n.Host(2), nil, nil)
	run(t, n, units.Millisecond)
	in := n.Switches()[0].Ports()[0]
	out := n.Switches()[0].Ports()[2]
	assert.NotZero(t, in.QueueStats(0).PausesSent)
	assert.Zero(t, in.QueueStats(1).PausesSent)
	nic := n.Host(0).NIC().Ports()[0]
	assert.NotZero(t, nic.QueueStats(0).PausesHeard)
	assert.NotZero(t, nic.QueueStats(0).Paused)
	assert.Zero(t, out.QueueStats(0).Dropped)
	assert.Equal(t, senders[0].Sent+senders[1].Sent, sink.Received)
}

// A pause ends by itself after 65535 quanta of 512 bit times, unless it is renewed.
func TestPauseStorm(t *testing.T) {
	n := fabric.Star(fabric.Parts{}, 2,
		fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
	require.NoError(t, n.Build())
	openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1082, Dst: 1}, 0), nil)
	sink := openloop.Put(n, n.Host(1), nil, nil)
	run(t, n, 10*units.Microsecond)
	storm := n.Host(1).NIC().Ports()[0]
	storm.Storm(0, true)
	run(t, n, 100*units.Microsecond)
	before := sink.Received
	run(t, n, 2*units.Millisecond) // much longer than one pause
	assert.Equal(t, before, sink.Received)
	assert.Greater(t, storm.Stats().Pauses, uint64(10), "a storm repeats itself")
	storm.Storm(0, false)
	run(t, n, units.Millisecond)
	assert.Greater(t, sink.Received, before+10_000)
}

// A switch's storm goes on while what came in by its port before leaves.
func TestPauseStormOfASwitch(t *testing.T) {
	n := fabric.Star(fabric.Parts{}, 3,
		fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
	require.NoError(t, n.Build())
	paused := openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1082, Dst: 2}, 0), nil)
	openloop.Put(n, n.Host(1), backlog(openloop.Frame{Len: 1082, Dst: 2}, 0), nil)
	openloop.Put(n, n.Host(2), nil, nil)
	run(t, n, 50*units.Microsecond)
	storm := n.Switches()[0].Ports()[0]
	require.Greater(t, n.Switches()[0].Stored(), units.Bytes(100_000))
	storm.Storm(0, true)
	run(t, n, 10*units.Microsecond)
	before := paused.Sent
	run(t, n, 200*units.Microsecond)
	assert.Equal(t, before, paused.Sent)
	storm.Storm(0, false)
	run(t, n, 10*units.Microsecond)
	assert.Greater(t, paused.Sent, before+20)
}

// A switch without PFC sends on when it is asked to pause, and the one that asked loses what its
// headroom does not take.
func TestIgnorePauses(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		qs := fabric.Queues{{Lossless: true, Limit: 20_000, Headroom: 100_000}}
		n := fabric.New(fabric.Config{Seed: 1})
		spine := n.AddSwitch("spine", fabric.SwitchConfig{IgnorePauses: ignore})
		leaf := n.AddSwitch("leaf", fabric.SwitchConfig{Buffer: units.MiB, Queues: qs.At()})
		n.Connect(n.AddHost(fabric.HostConfig{}), spine,
			fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
		n.Connect(spine, leaf, fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond})
		n.Connect(n.AddHost(fabric.HostConfig{}), leaf,
			fabric.Link{Rate: 25 * units.Gbps, Delay: units.Microsecond})
		require.NoError(t, n.Build())
		openloop.Put(n, n.Host(0), backlog(openloop.Frame{Len: 1082, Dst: 1}, 0), nil)
		openloop.Put(n, n.Host(1), nil, nil)
		run(t, n, 200*units.Microsecond)
		from := leaf.Ports()[0].QueueStats(0)
		assert.NotZero(t, from.PausesSent)
		assert.Equal(t, ignore, from.Refused > 0)
		assert.Equal(t, ignore, spine.Ports()[1].QueueStats(0).PausesHeard == 0)
	}
}
