package analysis

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/trace/sqlog"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// write returns a log with events.
func write(t testing.TB, sample float64, events ...trace.Event) []byte {
	var b bytes.Buffer
	l, err := sqlog.New(&b, sqlog.Options{Sample: sample, Virtual: true})
	require.NoError(t, err)
	r := l.Ring("a")
	for i := range events {
		r.Record(&events[i])
	}
	require.NoError(t, l.Close())
	return b.Bytes()
}

const us = units.Time(units.Microsecond)

// TestLog checks counts, the round trip that is computed from two events, and what limited.
func TestLog(t *testing.T) {
	text := write(t, 0.5,
		trace.Event{At: us, Kind: trace.PacketSent, QP: 7, PSN: 0xffffff, Count: 1, Bytes: 1000,
			InFlight: 1000, Packets: 1, Total: 1000, Op: wire.RCSendOnly},
		trace.Event{At: 2 * us, Kind: trace.PacketSent, QP: 7, PSN: 0, Count: 1, Bytes: 1000,
			InFlight: 2000, Packets: 2, Total: 2000, Op: wire.RCSendOnly},
		trace.Event{At: 11 * us, Kind: trace.AckReceived, QP: 7, PSN: 0, Count: 1, Bytes: 1000,
			InFlight: 1000, Marked: 1},
		trace.Event{At: 12 * us, Kind: trace.PacketLost, QP: 7, PSN: 0, Count: 1, Bytes: 1000,
			Reason: trace.LostNAK},
		trace.Event{At: 12 * us, Kind: trace.NAKReceived, QP: 7, Reason: trace.NAKNotReady},
		trace.Event{At: 12 * us, Kind: trace.NAKReceived, QP: 7, Reason: trace.NAKSequence},
		trace.Event{At: 12 * us, Kind: trace.NAKReceived, QP: 7, Reason: trace.NAKRemoteAccess},
		trace.Event{At: 13 * us, Kind: trace.PacketRetransmitted, QP: 7, PSN: 0, Count: 1,
			Bytes: 1000, Packets: 3, Total: 3000, Op: wire.RCSendOnly},
		trace.Event{At: 14 * us, Kind: trace.AckReceived, QP: 7, PSN: 1, Delay: 700 * 1000},
		trace.Event{At: 15 * us, Kind: trace.Limited, QP: 7, Reason: trace.LimitWindow, Delay: 3},
		trace.Event{At: 15 * us, Kind: trace.Limited, QP: 7, Reason: trace.LimitPace, Delay: 1},
		trace.Event{At: 16 * us, Kind: trace.Decision, QP: 7, Window: 5000, Rate: units.Gbps,
			Target: units.Microsecond},
		trace.Event{At: 16 * us, Kind: trace.CNPReceived, QP: 7},
		trace.Event{At: 16 * us, Kind: trace.Timeout, QP: 7},
		trace.Event{At: 17 * us, Kind: trace.Away, Delay: units.Millisecond},
		trace.Event{At: 17 * us, Kind: trace.EventsLost, Packets: 9},
		trace.Event{At: 17 * us, Kind: trace.FrameDropped}, trace.Event{Kind: trace.FrameMarked},
		trace.Event{At: 17 * us, Kind: trace.PauseReceived, Delay: 1},
	)
	r := New("x", EventLog)
	require.NoError(t, r.Log(bytes.NewReader(text), func(int64) {}))
	r.Sort()
	require.Len(t, r.Flows, 1)
	f := r.Flows[0]
	require.Equal(t, "a 0x7", f.Name)
	require.Equal(t, []uint64{3, 1, 1, 1, 1, 1, 1, 1, 1}, []uint64{f.Packets, f.Retransmitted,
		f.Lost, f.NAKs, f.RNRs, f.FatalNAKs, f.Timeouts, f.CNPs, f.Marks})
	require.EqualValues(t, 2000, f.Delivered)
	require.InDelta(t, 10000, f.RTTAt(100).Nanoseconds(), 100)
	require.InDelta(t, 700, f.RTTAt(50).Nanoseconds(), 10)
	require.Equal(t, []Share{{"window", 0.75}, {"pace", 0.25}}, f.Shares())
	require.Equal(t, "window 75%, pace 25%", Limits(f))
	require.Equal(t, []Point{{1e-6, 0}, {2e-6, 1}}, f.Sequence.Ranges(0)[:2])
	require.Equal(t, []uint64{1, 1, 1}, []uint64{r.Dropped, r.SwitchMarks, r.Pauses})
	require.Len(t, r.Notes, 2)
	var out strings.Builder
	require.NoError(t, r.WriteText(&out))
	for _, want := range []string{"19 events", "a 0x7", "9 events are missing", "50 %",
		"window 75%", "1 frames dropped"} {
		require.Contains(t, out.String(), want)
	}
}

func TestManyFlows(t *testing.T) {
	r := New("x", EventLog)
	for i := range MaxFlows + 5 {
		require.Equal(t, i < MaxFlows, r.Flow(fmt.Sprint(i), "", "", 1) != nil)
	}
	require.EqualValues(t, 5, r.Others)
	var out strings.Builder
	require.NoError(t, r.WriteText(&out))
	require.Contains(t, out.String(), fmt.Sprintf("and %d more", MaxFlows-maxRows))
}

// TestSeries checks that a series keeps its sum and extremes whatever its length.
func TestSeries(t *testing.T) {
	var s Series
	for i := range 1_000_000 {
		s.Add(units.Time(i)*us, float64(i))
	}
	s.Add(0, 5) // late
	require.LessOrEqual(t, len(s.points), buckets)
	ranges, sum := s.Ranges(0), 0.0
	require.Equal(t, 0.0, ranges[0][1])
	require.Equal(t, 999_999.0, ranges[len(ranges)-1][1])
	for _, p := range s.Sums(0) {
		sum += p[1]
	}
	require.Equal(t, 999_999.0*500_000+5, sum)
	require.Equal(t, 999_999.0, s.Lasts(0)[len(s.Lasts(0))-1][1])
	require.Len(t, s.Means(0), len(s.points))
	require.InEpsilon(t, sum/s.width.Seconds()/float64(len(s.points)),
		s.Rates(0)[len(s.points)/2][1], 0.02)
}

// TestRelative checks PSNs over a wrap.
func TestRelative(t *testing.T) {
	f := newFlow("x", "", "")
	for _, c := range []struct {
		psn  uint32
		want float64
	}{{0xfffffe, 0}, {0xffffff, 1}, {0, 2}, {5, 7}, {0xffffff, 1}, {1 << 22, 1<<22 + 2}} {
		require.Equal(t, c.want, f.Relative(c.psn))
	}
}

func FuzzLog(f *testing.F) {
	f.Add(write(f, 1, trace.Event{Kind: trace.PacketSent, QP: 1}, trace.Event{At: 1,
		Kind: trace.AckReceived, QP: 1, PSN: 1}))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := New("fuzz", EventLog)
		_ = r.Log(bytes.NewReader(text), func(int64) {})
		var out strings.Builder
		require.NoError(t, r.WriteText(&out))
	})
}
