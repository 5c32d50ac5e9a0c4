package trace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport/wire"
)

func TestSchema(t *testing.T) {
	names := map[string]bool{}
	for k := range Kinds {
		row := &Schema[k]
		require.NotEmpty(t, row.Name)
		require.NotEmpty(t, row.Category, row.Name)
		require.NotEmpty(t, row.Doc, row.Name)
		require.False(t, names[k.Name()], k.Name())
		names[k.Name()] = true
		fields := map[Field]bool{}
		for _, f := range row.Fields {
			require.False(t, fields[f], "%v twice in %s", f, k.Name())
			fields[f] = true
		}
	}
	for r := range reasons {
		require.NotEmpty(t, r.String())
	}
	for r := range cc.Reason(cc.Reasons) {
		if r != cc.NoCut {
			require.Contains(t, []string{"cut_" + r.String(), r.String()}, Cut(r).String())
		}
	}
	require.Equal(t, NoReason, Cut(cc.Reason(99)))
	require.Len(t, Limits, int(LimitState-LimitProgram+1))
	require.Equal(t, LimitTokens, Limit(false))
	require.Equal(t, "unknown", Kinds.Name())
}

func TestRing(t *testing.T) {
	r := NewRing(Config{Name: "x", Size: 5})
	require.Equal(t, "x", r.Name())
	take := func() (psns []wire.PSN) {
		r.Take(func(ev *Event) { psns = append(psns, ev.PSN) })
		return psns
	}
	require.Empty(t, take())
	for i := range 10 { // of 8
		r.Record(&Event{PSN: wire.PSN(i)})
	}
	require.EqualValues(t, 2, r.Lost())
	require.Equal(t, []wire.PSN{0, 1, 2, 3, 4, 5, 6, 7}, take())
	r.Record(&Event{PSN: 11})
	require.Equal(t, []wire.PSN{11}, take())
	p := r.Place("s0:1")
	require.Equal(t, "s0:1", r.PlaceName(p))
	require.Empty(t, r.PlaceName(0))
	require.Empty(t, r.PlaceName(7))
}

// TestRingInPlace checks that nothing is lost when the recorder makes room itself.
func TestRingInPlace(t *testing.T) {
	var r *Ring
	n := 0
	r = NewRing(Config{Size: 4, Full: func() { n += r.Take(func(*Event) {}) }})
	for range 1000 {
		r.Record(&Event{})
	}
	n += r.Take(func(*Event) {})
	require.Equal(t, 1000, n)
	require.Zero(t, r.Lost())
}

// TestRingConcurrently checks that another goroutine gets each event that was not lost, in order.
func TestRingConcurrently(t *testing.T) {
	const events = 200_000
	r := NewRing(Config{Size: 1 << 10})
	done := make(chan uint64)
	go func() {
		got, last := uint64(0), int64(-1)
		for last < events {
			r.Take(func(ev *Event) {
				if int64(ev.Packets) <= last || ev.Total != 7 {
					t.Errorf("event %d after %d", ev.Packets, last)
				}
				last = int64(ev.Packets)
				got++
			})
		}
		done <- got
	}()
	for i := range uint64(events) {
		r.Record(&Event{Packets: i, Total: 7})
	}
	lost := r.Lost()
	for recorded := false; !recorded; { // the end must not be lost
		r.Record(&Event{Packets: events, Total: 7})
		recorded = r.Lost() == lost
		lost = r.Lost()
	}
	got := <-done
	require.GreaterOrEqual(t, got+r.Lost(), uint64(events+1))
	require.LessOrEqual(t, got, uint64(events+1))
}

// TestSamples checks the share of sampled PSNs, that they are spread evenly, and that a smaller
// sample is part of a larger one.
func TestSamples(t *testing.T) {
	one, ten := NewRing(Config{Sample: 0.01, Size: 1}), NewRing(Config{Sample: 0.1, Size: 1})
	all := NewRing(Config{Sample: 1, Size: 1})
	n, last, longest := 0, 0, 0
	for psn := range 1 << 24 {
		p := wire.PSN(psn)
		require.True(t, all.Samples(p))
		if one.Samples(p) {
			require.True(t, ten.Samples(p))
			n, last, longest = n+1, psn, max(longest, psn-last)
		}
	}
	require.InEpsilon(t, float64(1<<24)/100, n, 0.01)
	require.Less(t, longest, 300)
	require.LessOrEqual(t, NewRing(Config{Sample: -1, Size: 1}).sampled, uint32(0))
}

func BenchmarkRecord(b *testing.B) {
	r := NewRing(Config{Size: 1 << 12})
	b.ReportAllocs()
	for i := range b.N {
		r.Record(&Event{Kind: PacketSent, PSN: wire.PSN(i)})
		if i&1023 == 0 {
			r.Take(func(*Event) {})
		}
	}
}
