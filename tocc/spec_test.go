package tocc

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, is, cc string }{
		{"", "tocc", "dcqcn"},
		{"unsch=0,k=4096", "unsch=0,k=4096", "dcqcn"},
		{"unsch=0,cc=dcqcn:g=0.01,f=3", "unsch=0,cc=dcqcn:g=0.01,f=3", "dcqcn:g=0.01,f=3"},
		{"cc=none,unsch=0", "unsch=0,cc=none", "none"},
		{"homa", "homa", "none"},
		{"homa:overcommit=4", "homa:overcommit=4", "none"},
		{" ndp : k=2pkt ", "ndp:k=2pkt", "none"},
		{"expresspass+aeolus", "expresspass+aeolus", "feedback"},
		{"ep+aeolus:jitter=0", "ep+aeolus:jitter=0", "feedback"},
		{"tocc-nounsch:cc=swift:beta=0.5,ai=2", "tocc-nounsch:cc=swift:beta=0.5,ai=2",
			"swift:beta=0.5,ai=2"},
	} {
		s := parse(t, c.text)
		assert.Equal(t, c.is, s.String(), c.text)
		o, err := s.read(&paper)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.cc, o.cc, c.text)
		again := parse(t, s.String())
		assert.Equal(t, s.String(), again.String())
	}
	assert.Equal(t, Spec{}, Spec{}, "comparable")
	assert.Equal(t, "tocc", Spec{}.String())
}

// Combinations that Table I excludes are refused, with the paper's reason.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, why string }{
		{"generation=rate,cc=feedback", "total volume"},
		{"expresspass:volume=on", "cannot be predicted which tokens"},
		{"expresspass:limiter=off", "limiters and small token queues"},
		{"expresspass:cc=dcqcn", "want feedback"},
		{"expresspass:rts=off", "requests them"},
		{"expresspass:overcommit=2", "in response to data"},
		{"cc=feedback", "are not lost"},
		{"unsch=0,drop=on", "want unsch of more than 0"},
		{"homa:volume=off", "the shortest message"},
		{"homa:overcommit=7,cutoffs=1KB", "leaves 1 unscheduled priorities"},
		{"homa:overcommit=4,cutoffs=10KB/1KB", "not ascending"},
		{"homa:overcommit=4,cutoffs=big", "whole number of bytes"},
		{"expresspass:w_min=0.6", "want w_min <= w_init"},
		{"aeolus", "an addition to a scheme"},
		{"tocc-nounsch+aeolus", "needs unscheduled packets"},
		{"dctcp", "unknown scheme"},
		{"cc=bbr", "unknown algorithm"},
		{"cc=dcqcn:unsch=0", "unknown parameter"},
		{"generation=pull", "want one of data, rate"},
		{"unsch", "unknown scheme"},
		{"unsch=0,k", "not key=value"},
		{"limit=3", "unknown parameter"},
		{"cc=dcqcn,cc=", "cc is given twice"},
		{"k=8192,cc=swift,cc=dcqcn", "cc is given twice"},
	} {
		_, err := Parse(c.text)
		assert.ErrorContains(t, err, c.why, c.text)
	}
	for _, c := range []struct{ text, why string }{
		{"k=1000", "which a token must release"},
		{"unsch=1B", "no packet fits"},
		{"unsch=2BDP", "outside"},
		{"most=1000", "less than window"},
		{"cc=hpcc", "needs INT"},
		{"cc=bolt", "needs SRC"},
		{"echo=cnp,cc=dctcp", "needs marks"},
	} {
		_, _, err := parse(t, c.text).New(paper)
		assert.ErrorContains(t, err, c.why, c.text)
	}
	for _, path := range []cc.Path{{}, {LineRate: units.Gbps},
		{LineRate: units.Gbps, BaseRTT: us}} {
		_, _, err := Spec{}.New(path)
		assert.ErrorContains(t, err, "want all of them above 0")
	}
}

// Of all combinations of Table I exactly these are refused: rate-based generation with volume
// control or without a limiter, and active drop of nothing.
func TestTableOne(t *testing.T) {
	accepted := 0
	for _, unsch := range []string{"unsch=0,drop=off", "unsch=1BDP,drop=off",
		"unsch=1BDP,drop=on"} {
		for _, generation := range []string{"rate", "data"} {
			for _, limiter := range []string{"on", "off"} {
				for _, volume := range []string{"on", "off"} {
					for _, control := range []string{"some", "none"} {
						if control == "some" {
							control = map[string]string{"rate": "feedback",
								"data": "dcqcn"}[generation]
						}
						text := strings.Join([]string{unsch, "generation=" + generation,
							"limiter=" + limiter, "volume=" + volume, "cc=" + control}, ",")
						_, err := Parse(text)
						wrong := generation == "rate" && (volume == "on" || limiter == "off")
						assert.Equal(t, wrong, err != nil, "%s: %v", text, err)
						if err == nil {
							accepted++
						}
					}
				}
			}
		}
	}
	assert.Equal(t, 30, accepted)
}

// Limiter values, in hundredths of a percent: Ethernet of 84 bytes for a packet of 1538, and ours.
func TestShare(t *testing.T) {
	hundredths := func(x float64) float64 { return math.Round(x*1e4) / 100 }
	assert.Equal(t, 5.18, hundredths(Limiter(84, 1538)))
	for _, c := range []struct {
		data units.Bytes
		is   float64
	}{{1110, 7.81}, {2220, 4.06}, {4440, 2.07}, {8880, 1.05}} {
		assert.Equal(t, c.is, hundredths(Limiter(94, c.data)))
	}
	for _, c := range []struct {
		text    string
		payload units.Bytes
		is      float64
	}{{"", 4096, 2.20}, {"", 1024, 2.08}, {"k=8192", 1024, 1.05}, {"expresspass", 1456, 5.72},
		{"homa", 1456, 0}} {
		share, err := parse(t, c.text).Share(cc.Path{LineRate: units.Gbps, BaseRTT: us,
			Payload: c.payload})
		require.NoError(t, err)
		assert.Equal(t, c.is, hundredths(share), "%s at %d", c.text, c.payload)
	}
	_, err := parse(t, "k=100").Share(paper)
	assert.Error(t, err)
	token, data, err := parse(t, "k=4096").Frames(cc.Path{LineRate: units.Gbps, BaseRTT: us,
		Payload: 1024})
	require.NoError(t, err)
	assert.Equal(t, []units.Bytes{94, 4424}, []units.Bytes{token, data})
}

// On a path with a BDP beyond 24 bits, no more tokens are in flight than 24 bits can report as
// discarded.
func TestWindowOfALongPath(t *testing.T) {
	long := cc.Path{LineRate: 100 * units.Gbps, BaseRTT: units.Millisecond, Payload: 4096}
	for _, text := range []string{"unsch=0,cc=none", "unsch=0,cc=dcqcn"} {
		gate, granter, err := parse(t, text).New(long)
		require.NoError(t, err)
		r := granter.(*Receiver)
		require.NoError(t, r.Receive(rts(100*units.MiB, 0), 1))
		var last cc.ControlMessage
		for _, token := range grants(r, 1) {
			last = token
		}
		assert.LessOrEqual(t, r.Window(), windowLimit, text)
		require.NoError(t, gate.Receive(&last, cc.Backlog{Waits: 100 * units.MiB}, 1))
		assert.Zero(t, gate.(*Sender).Stats().Clamped, "%s: the sender takes what was granted",
			text)
	}
}

func TestHelp(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Help(&b))
	for _, what := range []string{"expresspass", "+aeolus", "unsch", "ToCC IV-D", "overcommit"} {
		assert.Contains(t, b.String(), what)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "unsch=0,k=4096,cc=dcqcn:g=0.01",
		"homa:overcommit=4,cutoffs=1KB/10KB", "ep+aeolus", "cc=none,unsch=0.5BDP", "cc=,:",
		"cc=, ,", "a:b=c", "cc=dcqcn,cc="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.String())
		require.NoError(t, err, "%q was read from %q", s.String(), text)
		require.Equal(t, s.String(), again.String())
		if _, _, err := s.New(paper); err == nil {
			_, err = s.Share(paper)
			require.NoError(t, err)
		}
	})
}
