package cc

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

func TestParse(t *testing.T) {
	for _, text := range []string{
		"swift", "swift:base_target=25us,beta=0.8", " swift : fs_min=0.2 , fs_max=10 ",
		"fixed:window=64KiB,rate=10G",
		"timely:patched=on,t_low=2rtt,t_high=rtt+100us", "dctcp:min_cwnd=0.1pkt,max_cwnd=2BDP",
		"hpcc:max_stage=0",
	} {
		s, err := Parse(text)
		require.NoError(t, err, text)
		again, err := Parse(s.String())
		require.NoError(t, err)
		assert.Equal(t, s, again)
		_, err = s.New(everything)
		assert.NoError(t, err, text)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":      `unknown algorithm "", want one of bolt, d2tcp, dcqcn, dcqcn-nic, dctcp, fixed`,
		"cubic": `unknown algorithm "cubic", want one of bolt`,
		"swift:g=0.5": `swift: unknown parameter "g" (it belongs to d2tcp, dcqcn, dcqcn-nic, ` +
			`dctcp, idctcp), want one of base_target, per_hop`,
		"swift:zzz=1":                   `swift: unknown parameter "zzz", want one of base_target`,
		"swift:beta":                    `swift: "beta" is not key=value`,
		"swift:beta=0.8,":               `swift: "" is not key=value`,
		"swift:beta=0.8,beta=0.7":       `swift: beta is given twice`,
		"swift:beta=2":                  `swift: beta=2 is outside (0, 1]`,
		"swift:beta=0":                  `swift: beta=0 is outside (0, 1]`,
		"swift:beta=NaN":                `swift: beta=NaN is not a valid float`,
		"swift:fs_max=Inf":              `swift: fs_max=Inf is not a valid packets`,
		"swift:beta=x":                  `swift: beta=x is not a valid float value: "x" is not`,
		"swift:base_target=25":          `swift: base_target=25 is not a valid duration`,
		"swift:base_target=0s":          `swift: base_target=0s is outside (0s, 1s]`,
		"swift:fs_min=200":              `swift: fs_min=200 is not less than fs_max=100`,
		"swift:fs_min=5,fs_max=5":       `swift: fs_min=5 is not less than fs_max=5`,
		"swift:min_cwnd=10,init_cwnd=5": `swift: min_cwnd=10 is more than init_cwnd=5`,
		"swift:retx_reset=1.5": `swift: retx_reset=1.5 is not a valid int value: "1.5" is not a ` +
			`whole number`,
		"timely:patched=maybe": `timely: patched: "maybe", want on or off`,
		"fixed:window=0":       `fixed: window=0 is outside (0, inf)`,
		"fixed:rate=-5":        `fixed: rate=-5 is not a valid rate`,
		"dcqcn:min_rate=2Gb/s,max_rate=1G": `dcqcn: min_rate=2Gb/s is more than ` +
			`max_rate=1G`,
		"hpcc:ai=9e99":  `hpcc: ai=9e99 is not a valid packets value: value out of range`,
		"d2tcp:d_min=0": `d2tcp: d_min=0 is outside (0, 1]`,
		"dcqcn:f=99999999999999999999999999": `dcqcn: f=99999999999999999999999999 is not a ` +
			`valid int`,
	} {
		_, err := Parse(text)
		assert.ErrorContains(t, err, want, text)
	}
}

// What depends on the path is checked when the path is known.
func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		spec string
		path func(*Path)
		want string
	}{
		{"hpcc", func(p *Path) {
			p.Signals = SignalDelay | SignalMarks
		}, "cc: hpcc needs INT, and this path gives delay, marks"},
		{"dctcp", func(p *Path) {
			p.Signals = 0
		}, "cc: dctcp needs marks, and this path gives nothing"},
		{"bolt", func(p *Path) { p.Signals &^= SignalSRC }, "cc: bolt needs SRC"},
		{"swift", func(p *Path) { p.Signals = 0 }, "cc: swift needs delay"},
		{"swift", func(p *Path) { p.LineRate = 0 }, "line rate"},
		{"swift", func(p *Path) { p.BaseRTT = -1 }, "base round trip"},
		{"swift", func(p *Path) { p.Payload = 0 }, "payload"},
		{"swift", func(p *Path) { p.Hops = -1 }, "hops"},
		{"swift:init_cwnd=121,max_cwnd=1BDP", func(*Path) {},
			"init_cwnd=121 is more than max_cwnd=1BDP"},
		{"timely:t_low=50us,t_high=2rtt", func(*Path) {}, "t_low=50us is more than t_high=2rtt"},
		{"dctcp:init_cwnd=0.01BDP", func(*Path) {}, "min_cwnd=2 is more than init_cwnd=0.01BDP"},
	} {
		s, err := Parse(c.spec)
		require.NoError(t, err, c.spec)
		path := everything
		c.path(&path)
		_, err = s.New(path)
		assert.ErrorContains(t, err, c.want)
	}
	_, err := Spec{}.New(everything)
	assert.ErrorContains(t, err, "unknown algorithm")
}

// One Spec makes different algorithms on different paths.
func TestParametersRelativeToThePath(t *testing.T) {
	far := everything
	far.BaseRTT *= 3
	for _, c := range []struct {
		path   Path
		target units.Duration
	}{{everything, 25*us + everything.BaseRTT}, {far, 25*us + far.BaseRTT}} {
		s := make1[*Swift](t, "swift", c.path)
		assert.Equal(t, c.target, s.baseTarget)
		assert.InDelta(t, float64(c.path.BDP()), float64(s.initCwnd)*1000, 1e-6)
	}
	h := make1[*HPCC](t, "hpcc:ai=500B,min_window=2pkt+1KB", everything)
	assert.InDelta(t, 0.5, float64(h.ai), 1e-12)
	assert.InDelta(t, 3, float64(h.minWindow), 1e-12)
	d := make1[*DCQCN](t, "dcqcn:ai=0.002line,byte_counter=4pkt", everything)
	assert.Equal(t, 200*units.Mbps, d.ai)
	assert.Equal(t, units.Bytes(4000), d.byteCounter)
}

// All defaults are valid on any path: on one of less than a packet, and on a long one.
func TestDefaultsFitEveryPath(t *testing.T) {
	for _, path := range []Path{
		{LineRate: 10 * gbps, BaseRTT: 2 * us, Payload: 4096, Signals: allSignals},
		{LineRate: units.Gbps, BaseRTT: us / 10, Payload: 4096, Signals: allSignals},
		{LineRate: 400 * gbps, BaseRTT: 50 * units.Millisecond, Payload: 256, Signals: allSignals},
	} {
		for _, name := range Names() {
			d := make1[Starter](t, name, path)
			assert.Positive(t, d.Start(1).Window, name)
		}
	}
	d := make1[*DCTCP](t, "dctcp", Path{LineRate: units.Gbps, BaseRTT: us, Payload: 4096,
		Signals: allSignals})
	assert.Equal(t, 2.0, d.cwnd, "least window of a path that has not so much")
	_, err := Parse("dctcp:init_cwnd=1")
	assert.ErrorContains(t, err, "min_cwnd=2 is more than init_cwnd=1",
		"the error names both parameters")
}

// Two algorithms of one Spec share no state.
func TestNewMakesAnother(t *testing.T) {
	s, err := Parse("swift")
	require.NoError(t, err)
	a, err := s.New(everything)
	require.NoError(t, err)
	b, err := s.New(everything)
	require.NoError(t, err)
	a.On(&Event{Kind: OOO}, 1)
	assert.NotEqual(t, a.(Observable).Snapshot().Window, b.(Observable).Snapshot().Window)
}

func TestHelp(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Help(&b, ""))
	for _, name := range Names() {
		assert.Contains(t, b.String(), name)
	}
	b.Reset()
	require.NoError(t, Help(&b, "swift"))
	for _, want := range []string{"needs a path that gives delay", "base_target", "duration",
		"rtt+25us", "(0s, 1s]", "fs_min must be less than fs_max"} {
		assert.Contains(t, b.String(), want)
	}
	assert.ErrorContains(t, Help(&b, "vegas"), `unknown algorithm "vegas"`)
}

// Every declaration is complete and can be parsed.
func TestDeclarations(t *testing.T) {
	for _, name := range Names() {
		e, err := lookup(name)
		require.NoError(t, err)
		s := e.schema()
		require.NoError(t, s.fill(nil, nil), name)
		require.NoError(t, s.fill(nil, &everything), name)
		seen := map[string]bool{}
		for _, p := range s.params {
			what := name + " " + p.name
			assert.False(t, seen[p.name], what)
			seen[p.name] = true
			assert.NotEmpty(t, p.text, what)
			assert.NotEmpty(t, p.source, what)
			assert.NotEmpty(t, p.kind(), what)
			assert.Equal(t, strings.ToLower(p.name), p.name)
			if _, flag := p.into.(*bool); flag {
				continue
			}
			assert.Regexp(t, `^[\[(].+, .+[\])]$`, p.valid, what)
			given := []setting{{p.name, p.def}}
			assert.NoError(t, s.fill(given, &everything), what)
		}
		for _, o := range s.orders {
			assert.True(t, seen[o.low] && seen[o.high], o)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "swift", "swift:beta=0.8", "fixed:window=1e3,rate=0",
		"timely:t_low=2rtt+1us",
		"hpcc:ai=1BDP+2pkt", "a:b=c", "swift:,,", "dctcp:g=1e-400", ":", "bolt:ai=pkt",
		"swift:base_target=+"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			require.Zero(t, s)
			return
		}
		again, err := Parse(s.String())
		require.NoError(t, err)
		require.Equal(t, s.Name(), again.Name())
		a, err := s.New(everything)
		if err != nil {
			return
		}
		d := Decision{Window: 1}
		if first, ok := a.(Starter); ok {
			d = first.Start(1)
		}
		require.Positive(t, d.Window)
		require.GreaterOrEqual(t, d.Rate, units.BitRate(0))
	})
}

func TestSignals(t *testing.T) {
	assert.Equal(t, "nothing", Signals(0).String())
	assert.Equal(t, "delay, endpoint delay, marks, INT, SRC, one-way delay", allSignals.String())
	assert.Equal(t, "marks", SignalMarks.String())
}
