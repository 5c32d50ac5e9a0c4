package sim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

// consuming is a scenario of two hosts that send messages of 16 KiB at 100 Gb/s to a program that
// consumes 25 Gb/s, with CARC's credits: without them the receive queue would run out of receives.
func consuming(t *testing.T) sim.Scenario {
	const ms = units.Millisecond
	credits, err := carc.Parse("llc=128KiB")
	require.NoError(t, err)
	m := sim.Messages{To: 2, Bytes: 16 * units.KiB, Depth: 8}
	w := sim.Workload{
		Messages: []sim.Messages{m, m},
		Programs: []sim.Program{{Host: 2, Rate: 25 * units.Gbps}},
	}
	w.Messages[1].From, w.Messages[1].Stop = 1, ms/2
	return sim.Scenario{
		Topology: sim.Star(3, fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}),
		Scheme:   sim.Scheme{Cache: &credits}, Workload: w, Seed: 1, Until: ms,
	}
}

func TestProgramConsumesMessages(t *testing.T) {
	s := consuming(t)
	perMillisecond := float64(s.Workload.Programs[0].Rate) / 8 / 1000
	consumed := func(r *sim.Result) float64 {
		return float64(r.Messages[0].Consumed + r.Messages[1].Consumed)
	}
	r, err := s.Run(t.Context())
	require.NoError(t, err)
	assert.InDelta(t, perMillisecond, consumed(r), 0.01*perMillisecond, "what the program takes")
	assert.Less(t, r.Programs[0].Idle(), 10*units.Microsecond)
	for _, m := range r.Messages {
		assert.GreaterOrEqual(t, m.Posted, m.Delivered)
		assert.GreaterOrEqual(t, m.Delivered, m.Consumed)
	}
	stopped := r.Messages[1]
	assert.Equal(t, stopped.Posted, stopped.Consumed, "all that was posted before Stop")

	s.Workload.Programs[0].RateAt = func(at units.Duration) units.BitRate {
		return 25 * units.Gbps / units.BitRate(1+at/(units.Millisecond/2))
	}
	r, err = s.Run(t.Context())
	require.NoError(t, err)
	assert.InDelta(t, 0.75*perMillisecond, consumed(r), 0.02*perMillisecond, "half after half")
}

// Evicted lines cost the program additional time, and replies delay the next message.
func TestProgramWithCacheAndReplies(t *testing.T) {
	s := consuming(t)
	p := &s.Workload.Programs[0]
	p.Cache = &hostmodel.CacheConfig{Size: 64 * units.KiB, Ways: 16, DDIO: 2}
	p.Miss = 10 * units.Nanosecond
	p.Reply = 32
	done := uint64(0)
	p.Done = func(m *sim.MessageLog) { done += uint64(m.Bytes) }
	r, err := s.Run(t.Context())
	require.NoError(t, err)
	sum := r.Messages[0].Consumed + r.Messages[1].Consumed
	assert.Equal(t, sum, done)
	// 256 lines, of which nearly all miss: 2.56 µs besides 5.24.
	assert.InDelta(t, 0.67*25e9/8/1000, float64(sum), 0.05*25e9/8/1000)
	assert.Greater(t, r.Programs[0].Host.Cache.Stats.MissShare(), 0.9)
	for _, m := range r.Messages {
		assert.LessOrEqual(t, m.Posted-m.Consumed, uint64(m.Depth)*uint64(m.Bytes))
	}
}

func TestMessagesWithoutProgram(t *testing.T) {
	s := consuming(t)
	s.Workload.Programs = nil
	_, err := s.Run(t.Context())
	assert.EqualError(t, err, "sim: messages to host 2, which has no program")
}

// A program that stops posts nothing more, and its posted messages complete.
func TestRequestsStop(t *testing.T) {
	s := consuming(t)
	s.Workload = sim.Workload{Requests: []sim.Requests{{From: 0, To: 1, Bytes: 64 * units.KiB,
		Depth: 2, Stop: units.Millisecond / 2}}}
	r, err := s.Run(t.Context())
	require.NoError(t, err)
	done := r.Requests[0].Done
	last := done[len(done)-1]
	assert.Less(t, last.Posted, units.Millisecond/2)
	assert.InDelta(t, 0.5, last.Ended.Seconds()*1e3, 0.02)
}
