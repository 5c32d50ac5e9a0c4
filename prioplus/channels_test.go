package prioplus

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// The paper's channels: +4i and +4i+2.4 us, at any line rate.
func TestChannel(t *testing.T) {
	for _, rate := range []units.BitRate{10 * units.Gbps, 100 * units.Gbps, 400 * units.Gbps} {
		path := plain
		path.LineRate = rate
		c, err := ParseChannels("n=12")
		require.NoError(t, err)
		for priority := range 12 {
			ch, err := c.Of(priority, path)
			require.NoError(t, err)
			i := units.Duration(priority + 1)
			assert.Equal(t, path.BaseRTT+i*4*us, ch.Target)
			assert.Equal(t, ch.Target+2400*units.Nanosecond, ch.Limit)
		}
	}
}

// The 12-priority experiment of section 6.3: 11 is high, 6 to 10 middle, 0 to 5 low.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		channels string
		want     string // low, middle and high, from the lowest
		direct   int
	}{
		{"12", "LLLLLLMMMMMH", 1},
		{"8", "LLLLMMMH", 1},
		{"3", "LMH", 1},
		{"2", "LH", 1},
		{"1", "H", 1},
		{"32", strings.Repeat("L", 16) + strings.Repeat("M", 12) + "HHHH", 4},
		{"n=8,high=0.25,low=0.375,direct=0", "LLLMMMHH", 0},
		{"n=4,direct=1", "LLMH", 4},
	} {
		ch, err := ParseChannels(c.channels)
		require.NoError(t, err)
		var got strings.Builder
		direct := 0
		for i := range ch.N() {
			one, err := ch.Of(i, plain)
			require.NoError(t, err)
			got.WriteString(strings.ToUpper(one.Class.String()[:1]))
			share := map[Class]float64{Low: 0.125, Middle: 0.25, High: 1}[one.Class]
			assert.InDelta(t, 150*share, float64(one.WLS), 1e-9)
			if one.Direct {
				direct++
			}
		}
		assert.Equal(t, c.want, got.String(), c.channels)
		assert.Equal(t, c.direct, direct, c.channels)
	}
}

func TestBadSpecs(t *testing.T) {
	swift, err := cc.Parse("swift")
	require.NoError(t, err)
	for _, c := range []struct {
		channels string
		priority int
		want     string
	}{
		{"8", 8, "prioplus: priority 8 out of range [0, 8)"},
		{"8", -1, "prioplus: priority -1 out of range [0, 8)"},
		{"n=0", 0, "prioplus: channels n=0: n=0 is outside [1, 256]"},
		{"0", 0, "prioplus: channels n=0: n=0 is outside [1, 256]"},
		{"a=0s", 0, "prioplus: channels a=0s: a=0s is outside (0s, 10ms]"},
		{"a=-1us", 0, "prioplus: channels a=-1us: a=-1us is outside (0s, 10ms]"},
		{"eps=4us", 0, "prioplus: channels eps=4us: eps=4us is not less than a+b=4us: the queue " +
			"of the lowest priority would count as empty"},
		{"w_low=0", 0, "prioplus: channels w_low=0: w_low=0 is outside (0, 1BDP]"},
		{"w_low=2BDP", 0, "prioplus: channels w_low=2BDP: w_low=2BDP is outside (0, 1BDP]"},
		{"high=0.6,low=0.6", 0, "prioplus: channels high=0.6,low=0.6: the sum of high=0.6 and " +
			"low=0.6 is more than 1"},
		{"width=4us", 0,
			`prioplus: channels width=4us: unknown parameter "width", want one of n, a, b, eps, ` +
				`filter, dual, one_way, measure, high, low, direct, free, w_high, w_middle, ` +
				`w_low, least, room, patience, limit, artifact`},
		{"many", 0, `prioplus: channels many: "many" is not key=value`},
	} {
		ch, err := ParseChannels(c.channels)
		if err == nil {
			_, err = Spec{swift, ch, c.priority}.New(plain)
		}
		assert.EqualError(t, err, c.want, c.channels)
	}
	_, err = specOf(t, "swift", "one_way=on", 0).New(plain)
	assert.EqualError(t, err,
		"prioplus: channels one_way=on: one_way needs one-way delay, but the path gives delay")
	_, err = Spec{Inner: swift}.New(cc.Path{LineRate: 1, BaseRTT: 1, Payload: 1})
	assert.EqualError(t, err, "prioplus: cc: swift needs delay, and this path gives nothing")
	dctcp, err := cc.Parse("dctcp")
	require.NoError(t, err)
	_, err = Spec{Inner: dctcp}.New(plain)
	assert.EqualError(t, err,
		"prioplus: cc: dctcp has no delay target to move, want ledbat-dc or swift")
	assert.Error(t, Spec{Inner: dctcp}.Check())
	assert.Error(t, Spec{Inner: swift, Priority: 8}.Check())
	assert.NoError(t, Spec{Inner: swift, Priority: 7}.Check())
}

func TestChannelsTextRoundTrip(t *testing.T) {
	for _, c := range []struct{ text, want string }{{"", "n=8"}, {"12", "n=12"},
		{" n=12, a=5us ", "n=12, a=5us"}} {
		ch, err := ParseChannels(c.text)
		require.NoError(t, err)
		assert.Equal(t, c.want, ch.String())
		again, err := ParseChannels(ch.String())
		require.NoError(t, err)
		assert.Equal(t, ch.N(), again.N())
	}
	spec, err := cc.Parse("swift:ai=0.2")
	require.NoError(t, err)
	assert.Equal(t, "swift:ai=0.2 with priority 3 of n=8", Spec{Inner: spec, Priority: 3}.String())
	var b strings.Builder
	require.NoError(t, Help(&b))
	assert.Contains(t, b.String(), "PrioPlus 4.3.2")
	b.Reset()
	require.NoError(t, Channels{}.Table(&b, plain))
	assert.Equal(t, 9, strings.Count(b.String(), "\n"))
}

// The artifact's highest priorities have no limit: no other flow can make them stop, and they start
// at once. Their number is rounded: an eighth of 12 is two, though only one of 12 is high.
func TestFree(t *testing.T) {
	for table, free := range map[string]int{"n=16,free=0.125": 2, "n=12,free=0.125": 2,
		"n=10,free=0.125": 1, "n=8,free=0.125": 1, "n=2,free=0.125": 1, "n=20,free=0.125": 3,
		"n=8,free=0.25,direct=0.5": 2, "n=8": 0} {
		c, err := ParseChannels(table)
		require.NoError(t, err)
		for priority := range c.N() {
			ch, err := c.Of(priority, plain)
			require.NoError(t, err)
			want := priority >= c.N()-free
			assert.Equal(t, want, ch.Limit == units.Forever, "%s: priority %d", table, priority)
			assert.True(t, ch.Direct || !want, "%s: priority %d", table, priority)
		}
	}
}

// The artifact's sweep of widths has channels narrower than a/2+b.
func TestLimit(t *testing.T) {
	c, err := ParseChannels("n=8,a=2.4us,b=0us,limit=0.8us")
	require.NoError(t, err)
	ch, err := c.Of(2, plain)
	require.NoError(t, err)
	assert.Equal(t, plain.BaseRTT+7200*units.Nanosecond, ch.Target)
	assert.Equal(t, ch.Target+800*units.Nanosecond, ch.Limit)
}
