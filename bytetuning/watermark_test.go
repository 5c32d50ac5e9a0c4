package bytetuning

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goroce/goroce/units"
)

func TestAlpha(t *testing.T) {
	for text, want := range map[string]Alpha{"1/8": -3, "0.125": -3, "1": 0, "8": 3, "1/128": -7,
		" 2 ": 1} {
		a, err := ParseAlpha(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, a, text)
		back, err := ParseAlpha(a.String())
		require.NoError(t, err)
		assert.Equal(t, a, back)
	}
	for _, text := range []string{"", "0", "1/0", "3", "-1", "1/3", "16", "1/256", "NaN", "1/8/2",
		"x"} {
		_, err := ParseAlpha(text)
		assert.ErrorContains(t, err, `"`+text+`"`)
	}
}

func TestPercent(t *testing.T) {
	for text, want := range map[string]Percent{"20%": 20, "20": 20, "0": 0, "100 %": 100} {
		p, err := ParsePercent(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, p)
	}
	for _, text := range []string{"", "%", "101", "-1", "0.5", "1e1"} {
		_, err := ParsePercent(text)
		assert.Error(t, err, text)
	}
}

// TestTraversal checks that the paper's grid has 3300 valid points.
func TestTraversal(t *testing.T) {
	s := Traversal()
	require.NoError(t, s.Validate())
	assert.Equal(t, 3300, s.Size())
	seen := map[Watermark]bool{}
	for n := range s.Size() {
		p := s.numbered(n)
		w := s.at(p)
		assert.NoError(t, w.Validate())
		assert.Equal(t, 500*Cell, w.Kmax-w.Kmin)
		assert.Equal(t, p, s.nearest(w))
		seen[w] = true
	}
	assert.Len(t, seen, 3300)
}

func TestInvalidSpace(t *testing.T) {
	for want, change := range map[string]func(*Space){
		"the range of Kmin is empty": func(s *Space) { s.Kmin = nil },
		"the range of gap has 0B":    func(s *Space) { s.Gap = []units.Bytes{0} },
		"the range of Pmax has 101%": func(s *Space) { s.Pmax = []Percent{1, 101} },
		"the range of headroom has -1B": func(s *Space) {
			s.Headroom = []units.Bytes{-1}
		},
		"the range of alpha has 16": func(s *Space) { s.Alpha = []Alpha{4} },
		"the range of Kmin has 1B after 2B: want as": func(s *Space) {
			s.Kmin = []units.Bytes{2, 1}
		},
	} {
		s := Traversal()
		change(&s)
		assert.ErrorContains(t, s.Validate(), want)
		_, err := New("anneal", Problem{Layers: []Layer{{Name: "leaf", Space: s}},
			Start: Point{{}}})
		assert.ErrorContains(t, err, want)
	}
}

// TestCheck checks the constraints of a switch, including the paper's case I.
func TestCheck(t *testing.T) {
	l := Layer{Name: "leaf", Buffer: 32 * units.MiB, Ports: 32}
	good := Watermark{Kmin: 1000 * Cell, Kmax: 2000 * Cell, Pmax: 20, Headroom: 300 * Cell,
		Alpha: -3}
	require.NoError(t, l.Check(good))
	// 1/8/(1+1/8) of 32 MiB less 32 headrooms of 76800 B.
	assert.EqualValues(t, (32<<20-32*76800)/9, l.XOFF(good))
	for want, change := range map[string]func(*Watermark){
		"Kmax 250KiB":               func(w *Watermark) { w.Kmax = w.Kmin },
		"Pmax 0%":                   func(w *Watermark) { w.Pmax = 0 },
		"headroom -1B":              func(w *Watermark) { w.Headroom = -1 },
		"alpha 2^9":                 func(w *Watermark) { w.Alpha = 9 },
		"case I":                    func(w *Watermark) { w.Alpha = -7 },
		"leaves nothing of the 32M": func(w *Watermark) { w.Headroom = units.MiB },
	} {
		w := good
		change(&w)
		assert.ErrorContains(t, l.Check(w), want)
	}
	unknown := Layer{Name: "leaf"}
	assert.NoError(t, unknown.Check(Watermark{Kmin: 1, Kmax: units.GiB, Pmax: 1, Alpha: -7}),
		"XOFF is unknown")
}

// TestProject checks that projected points pass Check, and that valid points do not move.
func TestProject(t *testing.T) {
	l := Layer{Name: "leaf", Space: Traversal(), Buffer: 16 * units.MiB, Ports: 24}
	rapid.Check(t, func(t *rapid.T) {
		p := l.Space.numbered(rapid.IntRange(0, 3299).Draw(t, "n"))
		q := l.project(p)
		require.NoError(t, l.Check(l.Space.at(q)))
		if l.Check(l.Space.at(p)) == nil {
			require.Equal(t, p, q)
		}
	})
}

func TestBaselines(t *testing.T) {
	assert.Equal(t, []string{"dcqcn", "dctcp", "ecnstar", "experience", "hpcc", "manufacturer",
		"nvidia"}, Baselines())
	p := Path{Rate: 25 * units.Gbps, RTT: 10 * units.Microsecond}
	for name, want := range map[string]string{
		"experience":   "250KiB/500KiB/20% headroom 75KiB alpha 1/8",
		"manufacturer": "7000B/200000B/10% headroom 24010B alpha 1/8",
		"dcqcn":        "5000B/200000B/1% headroom 22400B alpha 8",
		"dctcp":        "146250B/146506B/100% headroom 24010B alpha 1/8",
		"ecnstar":      "31250B/31506B/100% headroom 24010B alpha 1/8",
		"nvidia":       "150000B/1500000B/100% headroom 35KiB alpha 1",
		"HPCC":         "100000B/400000B/20% headroom 24010B alpha 1/8",
	} {
		w, err := Baseline(name, p)
		require.NoError(t, err)
		require.NoError(t, w.Validate())
		assert.Equal(t, want, w.String())
	}
	p.Uplink, p.Link, p.MTU = 100*units.Gbps, units.Microsecond, 1110
	for _, name := range Baselines() {
		w, err := Baseline(name, p)
		require.NoError(t, err)
		// 2 x (25000 + 2 x 1110 + 480)
		assert.GreaterOrEqual(t, w.Headroom, units.Bytes(55_400), name)
	}
	_, err := Baseline("best", p)
	assert.EqualError(t, err,
		`bytetuning: unknown baseline "best"; want one of dcqcn, dctcp, ecnstar, experience, `+
			`hpcc, manufacturer, nvidia`)
}

func TestFormulas(t *testing.T) {
	const gbps, us = units.Gbps, units.Microsecond
	assert.InDelta(t, 42.667, FillTime(32_000_000, 240, 25*gbps, 0).Microseconds(), 0.001, "eq. 1")
	assert.InDelta(t, 42.845, FillTime(32_000_000, 240, 25*gbps, 25*gbps).Microseconds(), 0.001,
		"eq. 1 with a drain")
	assert.Equal(t, units.Forever, FillTime(1, 1, gbps, gbps), "it drains as fast as it fills")
	assert.EqualValues(t, 17857, DCTCPThreshold(10*gbps, 100*us), "eq. 2")
	assert.EqualValues(t, 125_000, ECNStarThreshold(10*gbps, 100*us), "eq. 3")
	assert.EqualValues(t, 125_000, MQECNThreshold(18_000, 0, 10*gbps, 100*us, 1), "eq. 4, alone")
	assert.EqualValues(t, 62_500, MQECNThreshold(18_000, 28_800*units.Nanosecond, 10*gbps, 100*us,
		1), "eq. 4, one of two")
	assert.EqualValues(t, 21_380, Headroom(100*gbps, 500*units.Nanosecond, 4200, 480),
		"eq. 5: 100 m at 100 Gb/s")
	assert.InDelta(t, 112.5, PPFCDuration(9_000_000, 16, 40*gbps).Microseconds(), 0.001)
	assert.InDelta(t, 26.2144, float64(InferredThroughput(200_000, 1024, 1./16))/1e9, 1e-9,
		"eq. 16")
	assert.InDelta(t, 16.71, InferredLatency(3516*Cell).Microseconds(), 0.01)
	assert.InDelta(t, 21.33, InferredLatency(4667*Cell).Microseconds(), 0.001)
}
