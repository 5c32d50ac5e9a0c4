package process_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/devicetest"
	"github.com/goroce/goroce/nicoffload/process"
	"github.com/goroce/goroce/units"
)

func TestMain(m *testing.M) {
	process.BeChild()
	os.Exit(m.Run())
}

const us = units.Microsecond

var path = cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 12 * us, Payload: 4096,
	Signals: cc.SignalDelay | cc.SignalMarks}

// spinRounds is a timeout long enough for a busy machine.
const spinRounds = 20 * time.Second

// until polls until a condition holds.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for begin := time.Now(); !so(); runtime.Gosched() {
		require.Less(t, time.Since(begin), spinRounds, what)
	}
}

func newProcessLink(t *testing.T, ticks bool) (*process.Memory, *nicoffload.ProcessLink) {
	m, err := process.NewMemory(nicoffload.ProcessLinkBytes)
	require.NoError(t, err)
	a, err := nicoffload.InitProcessLink(m.Bytes, ticks)
	require.NoError(t, err)
	return m, a
}

// The soft NIC in a process of its own passes the conformance suite, with ticks.
func TestNICProcess(t *testing.T) {
	devicetest.Run(t, func(t *testing.T) devicetest.Rig {
		m, a := newProcessLink(t, true)
		child, err := process.StartNIC(m, nicoffload.Config{})
		require.NoError(t, err)
		t.Cleanup(func() {
			assert.NoError(t, child.Kill())
			assert.NoError(t, m.Close())
		})
		remote, err := a.Remote(0)
		require.NoError(t, err)
		host, err := a.Host()
		require.NoError(t, err)
		return devicetest.Rig{Device: host, Datapath: remote, Settle: func(now units.Time) {
			remote.Poll(now)
			until(t, "the NIC's process is behind", remote.Settled)
		}}
	})
}

// load reports congestion on every flow at full speed, in real time.
type load struct {
	c     *nicoffload.Controller
	flows []cc.Flow
	begin time.Time
	psn   uint32
	agent *nicoffload.Agent // on this core; nil in another process
}

func newLoad(t *testing.T, c *nicoffload.Controller, agent *nicoffload.Agent) *load {
	l := &load{c: c, begin: time.Now(), agent: agent}
	spec, err := cc.Parse("swift")
	require.NoError(t, err)
	for range 8 {
		a, err := spec.New(path)
		require.NoError(t, err)
		l.flows = append(l.flows, c.Add(a, l.now()))
	}
	return l
}

func (l *load) now() units.Time { return units.Time(units.FromStd(time.Since(l.begin))) }

// round reports a burst of acknowledgements with a delay.
func (l *load) round(delay units.Duration) {
	now := l.now()
	for _, f := range l.flows {
		l.psn++
		l.c.Report(&cc.Event{Kind: cc.RTT, Flow: f, PSN: l.psn & 0xffffff,
			SndNxt: (l.psn + 1) & 0xffffff, Delay: delay, Packets: 1, Bytes: 4096,
			InFlight: 1 << 20}, now)
	}
	l.c.Poll(now)
	if l.agent != nil {
		l.agent.Poll(now)
		l.c.Poll(now)
	}
}

func (l *load) window() units.Bytes {
	d, _ := l.c.Decision(l.flows[0])
	return d.Window
}

// kill tests either half: the algorithm behind the device decides, its process is killed under
// load, the fallback controls the flows, and a new process takes over.
func kill(t *testing.T, l *load, child *process.Child, restarted func()) {
	start := l.window()
	until(t, "the algorithm reduces the window under congestion", func() bool {
		l.round(900 * us)
		return l.c.Counters().Results > 0 && !l.c.InFallback() && l.window() < start/2
	})
	low := l.window()
	until(t, "and increases it without", func() bool { l.round(5 * us); return l.window() > low })

	require.NoError(t, child.Kill())
	held := l.window()
	until(t, "the silence is detected", func() bool { l.round(900 * us); return l.c.InFallback() })
	assert.NotZero(t, l.window())
	for range 20_000 { // overflows the rings
		l.round(5 * us)
		require.NotZero(t, l.window())
		require.LessOrEqual(t, l.window(), 4*max(held, start))
	}
	require.NoError(t, child.Restart())
	restarted()
	until(t, "a new process takes over", func() bool { l.round(5 * us); return !l.c.InFallback() })
	high := l.window()
	until(t, "and decides", func() bool { l.round(900 * us); return l.window() < high/2 })
	assert.NotZero(t, l.c.Counters().Returns)
}

func TestKilledNIC(t *testing.T) {
	m, a := newProcessLink(t, false)
	child, err := process.StartNIC(m, nicoffload.Config{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, child.Kill()) }()
	remote, err := a.Remote(0)
	require.NoError(t, err)
	host, err := a.Host()
	require.NoError(t, err)
	handoff := nicoffload.NewHandoff()
	agent, err := nicoffload.NewAgent(nicoffload.AgentConfig{Device: host, Adopt: handoff.Adopt}, 0)
	require.NoError(t, err)
	c, err := nicoffload.NewController(nicoffload.ControllerConfig{Datapath: remote,
		Handoff: handoff, Silence: 50 * units.Millisecond})
	require.NoError(t, err)
	l := newLoad(t, c, agent)
	kill(t, l, child, func() { remote.Reopen(l.now()) })
	lost, malformed := remote.Lost()
	assert.NotZero(t, lost, "the ring was full")
	assert.Zero(t, malformed)
	assert.Zero(t, host.Counters().Malformed)
}

func TestKilledAgent(t *testing.T) {
	m, err := process.NewMemory(nicoffload.LinkBytes)
	require.NoError(t, err)
	link, err := nicoffload.InitLink(m.Bytes)
	require.NoError(t, err)
	child, err := process.StartAgent(m, process.Agent{Algorithm: "swift", Path: path})
	require.NoError(t, err)
	defer func() { assert.NoError(t, child.Kill()) }()
	nic, err := nicoffload.NewNIC(nicoffload.Config{}, 0)
	require.NoError(t, err)
	side, err := link.NICSide(nic)
	require.NoError(t, err)
	c, err := nicoffload.NewController(nicoffload.ControllerConfig{Datapath: side,
		Silence: 50 * units.Millisecond})
	require.NoError(t, err)
	kill(t, newLoad(t, c, nil), child, func() {})
	assert.NotZero(t, nic.Counters().Evicted[cc.RTT], "the ring was full")
	assert.Zero(t, nic.Counters().Refused+nic.Counters().Malformed)
}

func TestInvalidChildren(t *testing.T) {
	m, err := process.NewMemory(4096)
	require.NoError(t, err)
	_, err = process.StartAgent(m, process.Agent{Algorithm: "quick", Path: path})
	assert.ErrorContains(t, err, `unknown algorithm "quick"`)
	_, err = process.StartAgent(m, process.Agent{Algorithm: "hpcc", Path: path})
	assert.ErrorContains(t, err, "hpcc needs INT")
	_, err = process.OpenMemory(m.File, nicoffload.LinkBytes)
	assert.ErrorContains(t, err, "shared memory of 4096 bytes")
	_, err = nicoffload.OpenLink(make([]byte, nicoffload.LinkBytes))
	assert.ErrorContains(t, err, "magic 0x0, version 0")
	_, err = nicoffload.OpenProcessLink(make([]byte, 10))
	assert.ErrorContains(t, err, "10 bytes")
}
