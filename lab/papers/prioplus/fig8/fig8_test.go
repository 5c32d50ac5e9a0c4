package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/packet"
	"github.com/goroce/goroce/units"
)

// TestLowerFlowsStopAndResume: with real ports, every message arrives, in order, and every flow
// below the highest priority stops for the others and resumes after them. The testbed's clock
// counts rounds, so that other programs on the machine do not matter.
func TestLowerFlowsStopAndResume(t *testing.T) {
	s := defaults()
	s.Round = 2 * units.Microsecond
	// adjacent priorities take over too slowly for a test
	s.Samples, s.Prios = 1000, []int{0, 2, 4, 7}
	sv, err := s.survey()
	require.NoError(t, err)
	top, err := sv.Channels.Of(sv.Channels.N()-1, sv.Path)
	require.NoError(t, err)
	s.Step = max(50*units.Millisecond, 40*top.Limit)
	sc, err := s.run("PrioPlus", true, sv)
	require.NoError(t, err)
	require.NoError(t, s.write(t.Output(), sc))
	for i, g := range sc.Groups {
		for k, p := range g.Flows {
			assert.Positive(t, p.seen, "priority %d, flow %d: messages", g.Priority, k)
			assert.Equal(t, p.posted, p.seen, "priority %d, flow %d: messages that arrived",
				g.Priority, k)
			if i+1 < len(sc.Groups) {
				assert.True(t, p.Stopped, "priority %d, flow %d: stopped", g.Priority, k)
				assert.Positive(t, p.Resumed, "priority %d, flow %d: resumed", g.Priority, k)
			}
		}
	}
}

// TestProgram runs all of the program, with the algorithm alone at the end, and the figures.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	var out, errs strings.Builder
	code := run([]string{"--step", "50ms", "--prio", "1,2", "--each", "1", "--samples", "200",
		"--rate", "500Mb/s", "--out", dir}, &out, &errs)
	require.Zero(t, code, errs.String())
	for _, says := range []string{"PrioPlus:", "Swift alone:", "2 starts", "2 ends",
		"--channels n=8,a="} {
		assert.Contains(t, out.String(), says)
	}
	for _, f := range []string{"fig8-prioplus.svg", "fig8-prioplus-queue.svg",
		"fig8-swift-alone.svg", "fig8-swift-alone-queue.svg"} {
		info, err := os.Stat(filepath.Join(dir, f))
		require.NoError(t, err)
		assert.Positive(t, info.Size())
	}
}

func TestBadFlags(t *testing.T) {
	for args, says := range map[string]string{
		"--rate 1": "--rate 1b/s: want 10Mb/s to 100Gb/s", "--rate x": "x",
		"--delay -1us": "--delay", "--step 1us": "--step 1us: want 10ms to 1m",
		"--prio 3": "--prio [3]: want two or more", "--prio 3,2": "each higher",
		"--prio 2,2": "each higher", "--prio 7,8": "want --priorities 8, 0 to 7",
		"--priorities 0": "--priorities 0: want 1 to 256", "--each 0": "--each 0",
		"--flows 0": "fluctuation of 0 flows", "--options room=maybe": "room",
		"--size 1":    "--size 1B: want 8B to 1MiB",
		"--samples 1": "--samples 1", "--cc dctcp": "the fluctuation of dctcp is unknown",
		"--cc swift:base_target=1us": "swift: base_target=1us cannot be given",
		"--out /nowhere":             "--out: stat /nowhere", "what": `unexpected argument "what"`,
		"--what": "unknown flag",
	} {
		var errs strings.Builder
		require.Equal(t, 2, run(strings.Fields(args), io.Discard, &errs), args)
		assert.Contains(t, errs.String(), says)
		assert.True(t, strings.HasPrefix(errs.String(), "fig8: "))
	}
	var out strings.Builder
	require.Zero(t, run([]string{"--help"}, &out, io.Discard))
	assert.Contains(t, out.String(), "--realtime")
}

// TestDirection: a direction loses nothing and keeps the order, however little its far end accepts
// at a time.
func TestDirection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source, from := packet.Pipe(packet.PipeOptions{Buffers: 64, Depth: 32})
		to, sink := packet.Pipe(packet.PipeOptions{Buffers: rapid.IntRange(1, 40).Draw(t,
			"buffers"), Depth: rapid.IntRange(1, 40).Draw(t, "depth")})
		w := direction{from: from, to: to}
		sent, got := byte(0), byte(0)
		var buf [packet.Burst]packet.Buf
		for range rapid.IntRange(1, 40).Draw(t, "rounds") {
			n := source.Alloc(buf[:rapid.IntRange(0, packet.Burst).Draw(t, "sends")])
			for i := range n {
				buf[i].SetLen(60)
				buf[i].Data()[0] = sent + byte(i)
			}
			took := source.Send(packet.ClassData, buf[:n])
			source.Free(buf[took:n])
			sent += byte(took)
			w.forward()
			n = sink.Recv(buf[:rapid.IntRange(0, packet.Burst).Draw(t, "receives")])
			for i := range n {
				require.Equal(t, got, buf[i].Data()[0])
				require.Equal(t, 60, buf[i].Len())
				got++
			}
			sink.Free(buf[:n])
		}
		for range 100 {
			w.forward()
			n := sink.Recv(buf[:])
			got += byte(n)
			sink.Free(buf[:n])
		}
		require.Equal(t, sent, got)
	})
}

// Two priorities, judged by hand: the higher one takes over in its second bin, and the lower one
// again in the third bin after the higher one ended.
func TestActs(t *testing.T) {
	s := defaults()
	s.Rate, s.Step = units.Gbps, bins*units.Millisecond
	full := s.capacity(units.Millisecond)
	low, high := &group{Priority: 2, Bytes: make([]float64, 4*bins)}, &group{Priority: 5,
		Bytes: make([]float64, 4*bins)}
	for b := range 3 * bins {
		switch {
		case b < bins || b >= 2*bins+2:
			low.Bytes[b] = full
		case b == bins:
			low.Bytes[b], high.Bytes[b] = full/2, full/2
		case b < 2*bins:
			high.Bytes[b] = full
		}
	}
	phases := s.phases(&scenario{Groups: []*group{low, high}, Step: s.Step, Bin: units.Millisecond})
	require.Len(t, phases, 3)
	for i, want := range []phase{
		{0, s.Step, "2 starts", 0, []float64{1, 0}, 1, 0},
		{s.Step, 2 * s.Step, "5 starts", 1, []float64{0, 1}, 1, units.Millisecond},
		{2 * s.Step, 3 * s.Step, "5 ends", 0, []float64{1, 0}, 1, 2 * units.Millisecond},
	} {
		assert.InDeltaSlice(t, want.Shares, phases[i].Shares, 1e-9)
		phases[i].Shares, want.Shares, phases[i].Link = nil, nil, want.Link
		assert.Equal(t, want, phases[i])
	}
	assert.InDelta(t, 0.98e9/8/1000, full, 0.005e9/8/1000, "98 %% of 1 Gb/s is payload")
}
