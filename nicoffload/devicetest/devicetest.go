package devicetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

// Rig is a device under test, at time 0 and without flows, with its Datapath.
type Rig struct {
	Device   nicoffload.Device
	Datapath nicoffload.Datapath
	// Settle advances time to now, and waits until the device has done all work that is due.
	Settle func(now units.Time)
	// Receive passes a packet to the NIC. It is nil if signals do not come from packets; segments
	// are then not tested.
	Receive func(f nicoffload.Handle, p *nicoffload.Packet, now units.Time)
}

const us = units.Microsecond

func at(n int) units.Time { return units.Time(units.Duration(n) * us) }

type suite struct {
	Rig
	t *testing.T
}

// Run tests the devices that make returns.
func Run(t *testing.T, make func(t *testing.T) Rig) {
	for _, c := range []struct {
		name string
		test func(s *suite)
	}{
		{"capabilities", capabilities},
		{"lifecycle of flows", lifecycle},
		{"every event crosses", everyEvent},
		{"worked example", example},
		{"sums", sums},
		{"repetitions", repetitions},
		{"bindings", bindings},
		{"brief messages", brief},
		{"threshold and deadline", batching},
		{"changed periods", periods},
		{"whole messages", wholeMessages},
		{"results", results},
		{"requested probes", probes},
		{"segments", segments},
		{"overflow", overflow},
		{"flows that have ended", ended},
		{"silence", silence},
		{"refusals", refusals},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(&suite{make(t), t}) })
	}
}

func (s *suite) fetch() (all []nicoffload.Message) {
	b := make([]byte, 1<<20)
	b = b[:s.Device.Fetch(b)]
	for len(b) > 0 {
		var m nicoffload.Message
		n, err := m.Decode(b)
		require.NoError(s.t, err)
		if m.Event.INT != nil {
			m.Event.INT = append([]cc.Hop(nil), m.Event.INT...) // m's own
		}
		all, b = append(all, m), b[n:]
	}
	return all
}

// open starts a flow, at time 0, and leaves nothing to fetch. Every signal is reported at once
// until a test calls aggregate.
func (s *suite) open(f nicoffload.Handle, b nicoffload.Binding) {
	require.NoError(s.t, s.Device.Aggregate(nicoffload.Immediate))
	s.Settle(0)
	s.Datapath.Open(f, cc.Decision{Window: 4096}, 0)
	s.Settle(0)
	require.NoError(s.t, s.Device.Configure(f, b))
	s.Settle(0)
	s.fetch()
}

func (s *suite) aggregate(a nicoffload.Aggregation) {
	require.NoError(s.t, s.Device.Aggregate(a))
	s.Settle(0)
}

func (s *suite) report(f nicoffload.Handle, n int, ev cc.Event) { s.Datapath.Report(f, &ev, at(n)) }

func (s *suite) results() (all []nicoffload.Result) {
	var r nicoffload.Result
	for s.Datapath.Result(&r) {
		all = append(all, r)
	}
	return all
}

func (s *suite) counters(now units.Time) nicoffload.Counters {
	s.Device.Counters() // requests newer ones
	s.Settle(now)
	return s.Device.Counters()
}

// newest returns the last result of each flow.
func (s *suite) newest() (all []nicoffload.Result) {
	last := map[nicoffload.Handle]nicoffload.Result{}
	for _, r := range s.results() {
		last[r.Flow] = r
	}
	for _, r := range last {
		all = append(all, r)
	}
	return all
}
