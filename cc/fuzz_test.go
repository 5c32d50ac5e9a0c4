package cc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func FuzzSwift(f *testing.F)    { fuzzAlgorithm(f, "swift") }
func FuzzLEDBAT(f *testing.F)   { fuzzAlgorithm(f, "ledbat") }
func FuzzLEDBATDC(f *testing.F) { fuzzAlgorithm(f, "ledbat-dc") }
func FuzzTIMELY(f *testing.F) {
	fuzzAlgorithm(f, "timely", "timely:patched=on", "timely:per_ack=on")
}
func FuzzDCTCP(f *testing.F)    { fuzzAlgorithm(f, "dctcp", "dctcp:min_cwnd=0.01") }
func FuzzIDCTCP(f *testing.F)   { fuzzAlgorithm(f, "idctcp") }
func FuzzD2TCP(f *testing.F)    { fuzzAlgorithm(f, "d2tcp:deadline=1ms", "d2tcp") }
func FuzzDCQCN(f *testing.F)    { fuzzAlgorithm(f, "dcqcn", "dcqcn:byte_counter=4KB") }
func FuzzDCQCNNIC(f *testing.F) { fuzzAlgorithm(f, "dcqcn-nic") }
func FuzzHPCC(f *testing.F)     { fuzzAlgorithm(f, "hpcc") }
func FuzzBolt(f *testing.F)     { fuzzAlgorithm(f, "bolt") }
func FuzzFixed(f *testing.F)    { fuzzAlgorithm(f, "fixed") }

// fuzzAlgorithm passes arbitrary events to an algorithm, in any order, and checks its bounds.
func fuzzAlgorithm(f *testing.F, specs ...string) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		data := make([]byte, 40*(1+i%20))
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		f.Add(data)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, spec := range specs {
			runAnything(t, spec, data)
		}
	})
}

// runAnything decodes events and steps of the clock from data.
func runAnything(t *testing.T, spec string, data []byte) {
	a := make1[Algorithm](t, spec, everything)
	low, high := bounds(t, spec, everything)
	in := input{data: data}
	now := units.Time(in.number())
	check := func(d Decision, what string) {
		if d.Window < low.Window || d.Window > high.Window || d.Rate < low.Rate ||
			d.Rate > high.Rate {
			require.FailNow(t, "out of bounds", "%s: %+v after %s is not within %+v and %+v", spec,
				d, what, low, high)
		}
		if d.WakeAt != 0 && d.WakeAt.Sub(now) > units.Second {
			require.FailNow(t, "sleeps too long", "%s: %+v after %s at %v", spec, d, what, now)
		}
		requireFinite(t, reflect.ValueOf(a).Elem(), spec+" after "+what)
	}
	check(a.(Starter).Start(now), "start")
	for !in.empty() {
		ev := in.event(now)
		now = now.Add(in.step())
		d := a.On(&ev, now)
		check(d, fmt.Sprintf("%+v", ev))
		s := a.(Observable).Snapshot()
		require.Equal(t, d.Window, s.Window)
		require.Equal(t, d.Rate, s.Rate)
	}
}

// bounds returns the bounds of a Decision, from the parameters.
func bounds(t testing.TB, spec string, path Path) (low, high Decision) {
	parsed, err := Parse(spec)
	require.NoError(t, err)
	e, err := lookup(parsed.name)
	require.NoError(t, err)
	given, err := e.parse(parsed.settings)
	require.NoError(t, err)
	s := e.schema()
	require.NoError(t, s.fill(given, &path))
	low, high = Decision{Window: 1}, Decision{Rate: path.LineRate}
	for _, p := range s.params {
		bytes := p.value
		if _, ok := p.into.(*Packets); ok {
			bytes *= float64(path.Payload)
		}
		switch p.name {
		case "min_cwnd", "min_window":
			// a timeout leaves a packet
			low.Window = max(1, units.Bytes(min(bytes, float64(path.Payload))))
		case "max_cwnd", "window":
			high.Window = units.Bytes(math.Ceil(bytes))
		case "max_window": // HPCC: plus the packet beyond the window
			high.Window = units.Bytes(math.Ceil(bytes)) + path.Payload
		case "min_rate":
			low.Rate = units.BitRate(p.value)
		}
	}
	return low, high
}

func requireFinite(t *testing.T, v reflect.Value, what string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			requireFinite(t, v.Field(i), what)
		}
	case reflect.Float64:
		if x := v.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
			require.FailNow(t, "not finite", what)
		}
	}
}

// input decodes values from bytes, and zeros after their end.
type input struct {
	data []byte
	hops [MaxHops + 2]Hop
	path int // number of hops
}

func (in *input) empty() bool { return len(in.data) == 0 }

func (in *input) byte() byte {
	if in.empty() {
		return 0
	}
	b := in.data[0]
	in.data = in.data[1:]
	return b
}

// number returns a number that is sometimes an extreme one.
func (in *input) number() int64 {
	switch b := in.byte(); {
	case b < 8:
		return [...]int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 32, -(1 << 40), 1 << 62}[b]
	case b < 32:
		return -int64(in.byte()) << (b % 24)
	default:
		return int64(in.byte()) << (b % 32)
	}
}

func (in *input) step() units.Duration {
	switch b := in.byte(); {
	case b < 4:
		return units.Duration(in.number())
	case b < 16:
		return -units.Duration(b) * us
	case b < 32:
		return units.Duration(b) * units.Millisecond
	default:
		return units.Duration(b) * units.Nanosecond * 10
	}
}

func (in *input) event(now units.Time) Event {
	ev := Event{Kind: Kind(in.byte() % uint8(kinds+1)), PSN: uint32(in.number()),
		SndNxt: uint32(in.number())}
	ev.Packets, ev.Marked = int(in.byte()%4), int(in.byte()%3)
	ev.Bytes = units.Bytes(ev.Packets) * 1000
	if b := in.byte(); b < 16 {
		ev.Packets, ev.Marked = int(in.number()), int(in.number())
		ev.Bytes, ev.InFlight, ev.Left = units.Bytes(in.number()), units.Bytes(in.number()),
			units.Bytes(in.number())
	}
	ev.Delay = units.Duration(in.byte()) * us
	if in.byte() < 16 {
		ev.Delay, ev.Endpoint, ev.Hops = units.Duration(in.number()), units.Duration(in.number()),
			int(in.number())
	}
	switch b := in.byte(); { // hosts without time stamps
	case b < 8:
		ev.LocalGap, ev.RemoteGap = units.Duration(in.number()), units.Duration(in.number())
		ev.LocalAway, ev.RemoteAway = units.Duration(in.number()), units.Duration(in.number())
	case b < 64:
		ev.LocalGap, ev.RemoteGap = units.Duration(in.byte())*us, units.Duration(in.byte())*us
		ev.LocalAway, ev.RemoteAway = units.Duration(in.byte())*us, units.Duration(in.byte())*us
	}
	if b := int(in.byte()); b < 32 { // mostly the same path
		in.path = b % (len(in.hops) + 1)
	}
	for i := range in.path {
		in.hops[i] = Hop{uint16(i), everything.LineRate, in.hops[i].Time + uint32(in.number()),
			in.hops[i].Sent + uint32(in.number()), units.Bytes(in.number())}
	}
	ev.INT = in.hops[:in.path]
	ev.Bolt = BoltFlags(in.byte())
	ev.Increases = int(int8(in.byte()))
	ev.SRC = SRC{units.Duration(in.number()), units.BitRate(in.number()),
		now.Add(-units.Duration(in.number()))}
	return ev
}

// TestAnything processes twenty thousand random events with each algorithm, from a seed that is
// printed.
func TestAnything(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, name := range Names() {
		random := rand.New(rand.NewPCG(seed, 0))
		data := make([]byte, 600_000)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		runAnything(t, name, data)
	}
}
