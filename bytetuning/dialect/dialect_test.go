package dialect

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/units"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// vector returns the worked example, with a headroom of 140 cells of 256 B.
func vector() *intent.Intent {
	return &intent.Intent{
		Name: "leaf",
		Watermark: bytetuning.Watermark{Kmin: 200_000, Kmax: 400_000, Pmax: 20, Headroom: 35_840,
			Alpha: -3},
		Priority: 3, Queue: 3,
	}
}

// of sets interface names in the vendor's form.
func of(name string, i *intent.Intent) *intent.Intent {
	i.Interfaces = map[string][]string{
		"sonic": {"Ethernet0", "Ethernet4"}, "nxos": {"Ethernet1/1", "Ethernet1/2"},
		"eos":    {"Ethernet1", "Ethernet2"},
		"huawei": {"100GE1/0/1", "100GE1/0/2"}, "h3c": {"HundredGigE1/0/1", "HundredGigE1/0/2"},
		"onyx": {"1/1", "1/2"}, "nvue": {"swp1", "swp2"},
	}[name]
	if name == "h3c" && i.Chip.Cell == 0 {
		i.Chip.Cell = 256
	}
	return i
}

func render(t *testing.T, name string, i *intent.Intent) (*Rendering, error) {
	t.Helper()
	d, err := Lookup(name)
	require.NoError(t, err)
	return d.Render(of(name, i), Options{})
}

// TestGolden compares each dialect's rendering of the worked example, with α and with a static
// XOFF.
func TestGolden(t *testing.T) {
	static := func() *intent.Intent {
		i := vector()
		i.Alpha, i.XOFF, i.XONOffset, i.Guaranteed = 0, 1_000_000, 20_000, 1600
		return i
	}
	for _, name := range Names() {
		for kind, i := range map[string]*intent.Intent{"alpha": vector(), "static": static()} {
			file := fmt.Sprintf("testdata/%s-%s.golden", name, kind)
			r, err := render(t, name, i)
			var got string
			if err != nil {
				got = "refused: " + err.Error() + "\n"
			} else {
				got = r.Config + "\n# undo\n" + r.Undo + "\n# warnings\n" + text(r.Warnings)
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, file)
		}
	}
}

// TestVector checks the values of the worked example in each dialect.
func TestVector(t *testing.T) {
	for name, want := range map[string][]string{
		"sonic": {`"green_min_threshold": "200000"`, `"green_max_threshold": "400000"`,
			`"green_drop_probability": "20"`, `"xoff": "35840"`, `"dynamic_th": "-3"`},
		"nxos": {"minimum-threshold 200 kbytes maximum-threshold 400 kbytes drop-probability " +
			"20 weight 0 ecn"},
		"eos": {"minimum-threshold 200 kbytes maximum-threshold 400 kbytes " +
			"max-mark-probability 20 weight 0", "headroom kbytes 36"},
		"h3c": {"low-limit 782 high-limit 1563 discard-probability 20",
			"ingress-buffer dynamic 11", "headroom 140"},
		"huawei": {"low-limit 200000 high-limit 400000 discard-percentage 20", "hdrm 36 kbytes"},
		"onyx":   {"minimum-absolute 200 maximum-absolute 400", "alpha 1/8"},
		"nvue": {"min-threshold 200000", "max-threshold 400000", "probability 20",
			"port-buffer 35840"},
	} {
		r, err := render(t, name, vector())
		require.NoError(t, err)
		for _, w := range want {
			assert.Contains(t, r.Config, w, name)
		}
		var omitted []string
		switch name {
		case "onyx":
			omitted = []string{"pmax"}
		case "nxos":
			omitted = []string{"alpha", "headroom"}
		case "eos", "huawei", "nvue":
			omitted = []string{"alpha"}
		}
		assert.Equal(t, omitted, r.Omitted, name)
		for _, o := range omitted {
			assert.True(t, slices.ContainsFunc(r.Warnings, func(w string) bool {
				return strings.Contains(w, "unsupported: "+o)
			}), "%s: %s", name, o)
		}
	}
}

// TestErrors checks that unsupported values are rejected with a reason.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*intent.Intent)
	}{
		{"sonic", "Kmax 400000B is not below XOFF, 300000B: PFC would act before ECN (case I)",
			func(i *intent.Intent) {
				i.XOFF = 300_000
			}},
		{"sonic", "after rounding: intent: leaf: Kmax 400128B is not below XOFF, 400128B",
			func(i *intent.Intent) {
				i.Chip.Cell, i.XOFF = 256, 400_010
			}},
		{"sonic", "are equal after rounding", func(i *intent.Intent) {
			i.Chip.Cell, i.Kmax = 4096, 200_100
		}},
		{"sonic", `interface "Ethernet0\nreload"`, func(i *intent.Intent) {
			i.Interfaces = []string{"Ethernet0\nreload"}
		}},
		{"sonic", `name "leaf; reboot"`, func(i *intent.Intent) { i.Name = "leaf; reboot" }},
		{"onyx", "no interfaces", func(i *intent.Intent) { i.Interfaces = nil }},
		{"nxos", "are equal after rounding, 201000B", func(i *intent.Intent) {
			i.Kmin, i.Kmax = 200_100, 200_900
		}},
		{"h3c", "Kmax 20000000B: want at most 9500KiB", func(i *intent.Intent) {
			i.Kmax = 20_000_000
		}},
		{"huawei", "headroom 40000000B: want at most 30000KiB", func(i *intent.Intent) {
			i.Headroom = 40_000_000
		}},
		{"huawei", "guaranteed 30000B: want at most 25KiB", func(i *intent.Intent) {
			i.Guaranteed = 30_000
		}},
		{"huawei", "queue 6: want 0 to 5", func(i *intent.Intent) {
			i.Model, i.Queue = "CE6866-48S8CQ", 6
		}},
		{"onyx", "XOFF 1000000B", func(i *intent.Intent) { i.XOFF = 1_000_000 }},
		{"eos", "Pmax 0%", func(i *intent.Intent) { i.Pmax = 0 }},
		{"eos", "alpha 2^5", func(i *intent.Intent) { i.Alpha = 5 }},
	} {
		i := of(c.name, vector())
		c.change(i)
		d, err := Lookup(c.name)
		require.NoError(t, err)
		_, err = d.Render(i, Options{})
		assert.ErrorContains(t, err, c.want)
	}
	i := of("h3c", vector())
	i.Chip.Cell = 0
	d, _ := Lookup("h3c")
	_, err := d.Render(i, Options{})
	assert.ErrorContains(t, err, "want the cell size")
	_, err = Lookup("junos")
	assert.EqualError(t, err,
		`dialect: unknown dialect "junos"; want one of eos, h3c, huawei, nvue, nxos, onyx, sonic`)
}

// TestH3CAlpha checks that the 101 percentages map to eleven classes.
func TestH3CAlpha(t *testing.T) {
	classes := map[bytetuning.Alpha]bool{}
	for p := range 101 {
		a, ok := H3CAlpha(p)
		require.True(t, ok)
		classes[a] = true
	}
	assert.Len(t, classes, 11)
	for _, p := range []int{-1, 101} {
		_, ok := H3CAlpha(p)
		assert.False(t, ok)
	}
	for percent, want := range map[int]bytetuning.Alpha{
		0: -7, 1: -6, 2: -5, 3: -5, 4: -4, 5: -4, 6: -3, 11: -3, 12: -2, 20: -2, 21: -1, 33: -1,
		34: 0, 50: 0, 51: 1, 66: 1, 67: 2, 80: 2, 81: 3, 100: 3,
	} {
		a, _ := H3CAlpha(percent)
		assert.Equal(t, want, a)
	}
}

func drawn(r *rand.Rand) *intent.Intent {
	i := vector()
	i.Kmin = units.Bytes(r.IntN(2_000_000))
	i.Kmax = i.Kmin + 2000 + units.Bytes(r.IntN(2_000_000))
	i.Pmax = bytetuning.Percent(1 + r.IntN(100))
	i.Headroom = units.Bytes(20_000 + r.IntN(300_000))
	i.Alpha = bytetuning.MinAlpha + bytetuning.Alpha(r.IntN(11))
	i.Priority, i.Queue = r.IntN(8), r.IntN(8)
	i.Chip.Cell = []units.Bytes{0, 208, 256, 384}[r.IntN(4)]
	if r.IntN(3) == 0 {
		i.Alpha, i.XOFF, i.XONOffset = 0, i.Kmax+2000+units.Bytes(r.IntN(1_000_000)),
			units.Bytes(1000+r.IntN(20_000))
	}
	return i
}

// TestRoundTrip checks that Parse returns the effective intent of a rendering, whose sizes are
// never below the intended ones.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	rendered := map[string]int{}
	for range 1000 {
		wanted := drawn(r)
		for _, name := range Names() {
			i := *wanted
			out, err := render(t, name, &i)
			if err != nil {
				continue
			}
			rendered[name]++
			e := out.Effective
			require.GreaterOrEqual(t, e.Kmin, wanted.Kmin, name)
			require.GreaterOrEqual(t, e.Kmax, wanted.Kmax, name)
			require.GreaterOrEqual(t, e.Headroom, wanted.Headroom, name)
			d, _ := Lookup(name)
			back, err := d.Parse([]byte(out.Config), i.Chip)
			require.NoError(t, err, "%s\n%s", name, out.Config)
			require.Len(t, back, 1)
			b := back[0]
			for what, same := range map[string]bool{
				"kmin": e.Kmin == b.Kmin, "kmax": e.Kmax == b.Kmax, "pmax": e.Pmax == b.Pmax,
				"headroom": e.Headroom == b.Headroom,
				"alpha":    e.Alpha == b.Alpha, "xoff": e.XOFF == b.XOFF,
				"priority": e.Priority == b.Priority, "queue": e.Queue == b.Queue,
				"xon_offset": e.XONOffset == b.XONOffset, "interfaces": slices.Equal(e.Interfaces,
					b.Interfaces),
			} {
				require.True(t, same || slices.Contains(out.Omitted, what),
					"%s: %s: %+v is read as %+v\n%s", name, what, e, b, out.Config)
			}
		}
	}
	t.Log(rendered)
	for _, name := range Names() {
		assert.Greater(t, rendered[name], 500, name)
	}
}

// TestSONiCVariants covers references of old releases, ranges, lists of ports, and numbers that are
// not strings.
func TestSONiCVariants(t *testing.T) {
	d, _ := Lookup("sonic")
	text, err := os.ReadFile("testdata/config_db.json")
	require.NoError(t, err)
	intents, err := d.Parse(text, intent.Chip{})
	require.NoError(t, err)
	require.Len(t, intents, 2)
	assert.Equal(t, &intent.Intent{
		Name: "AZURE_LOSSLESS", Chip: intent.Chip{Buffer: 12_766_208},
		Watermark: bytetuning.Watermark{Kmin: 1_048_576, Kmax: 2_097_152, Pmax: 5,
			Headroom: 177_632, Alpha: -3},
		Guaranteed: 1248, XONOffset: 2288, Priority: 3, Queue: 3, Interfaces: []string{"Ethernet0",
			"Ethernet4"},
	}, intents[0])
	assert.Equal(t, "AZURE_LOSSLESS_4", intents[1].Name)
	findings, _ := intent.Lint(intents[0])
	require.Len(t, findings, 1)
	assert.Contains(t, findings[0].String(), "case I: Kmax 2MiB is not below XOFF 1418467B")

	const rest = `"QUEUE": {"E|3": {"wred_profile": "w"}}, ` +
		`"BUFFER_PG": {"E|3": {"profile": "b"}}, "BUFFER_PROFILE": {"b": {"xoff": "1"}}}`
	for want, text := range map[string]string{
		"unexpected end":               "{",
		"no port with a WRED_PROFILE":  "{}",
		"cannot unmarshal":             `{"QUEUE": []}`,
		"want port|number":             `{"QUEUE": {"Ethernet0|x": {"wred_profile": "w"}}}`,
		`WRED_PROFILE: no profile "w"`: `{` + rest,
		"green_min_threshold is x": `{"WRED_PROFILE": {"w": {"green_min_threshold": "x"}}, ` +
			rest,
	} {
		_, err := d.Parse([]byte(text), intent.Chip{})
		assert.ErrorContains(t, err, want)
	}
}

func TestLinesThatContradict(t *testing.T) {
	d, _ := Lookup("h3c")
	_, err := d.Parse([]byte(" queue 3 drop-level 0 low-limit 1 high-limit 2 discard-probability "+
		"3\n queue 4 drop-level 0 low-limit 1 high-limit 2 discard-probability 3\n"),
		intent.Chip{Cell: 256})
	assert.ErrorContains(t, err, "line 2: queue is 4, and was 3 before")
	_, err = d.Parse(
		[]byte(" queue 3 drop-level 0 low-limit 1 high-limit 2 discard-probability 3\n"),
		intent.Chip{})
	assert.ErrorContains(t, err, "want the cell size")
	_, err = d.Parse([]byte("nothing\n"), intent.Chip{})
	assert.ErrorContains(t, err, "no ECN thresholds found")
}

func TestUnverified(t *testing.T) {
	for name, want := range map[string]string{"nxos": "queue-limit dynamic 4",
		"eos": "ingress priority-group 3 threshold 1/8"} {
		d, _ := Lookup(name)
		r, err := d.Render(of(name, vector()), Options{})
		require.NoError(t, err)
		assert.NotContains(t, r.Config, want)
		r, err = d.Render(of(name, vector()), Options{Unverified: true})
		require.NoError(t, err)
		assert.Contains(t, r.Config, want)
	}
}

func FuzzParse(f *testing.F) {
	for n, name := range Names() {
		text, err := os.ReadFile("testdata/" + name + "-alpha.golden")
		require.NoError(f, err)
		f.Add(n, string(text))
	}
	wild, err := os.ReadFile("testdata/config_db.json")
	require.NoError(f, err)
	f.Add(slices.Index(Names(), "sonic"), string(wild))
	f.Fuzz(func(t *testing.T, n int, text string) {
		names := Names()
		d, err := Lookup(names[((n%len(names))+len(names))%len(names)])
		require.NoError(t, err)
		intents, err := d.Parse([]byte(text), intent.Chip{Cell: 256})
		if err != nil {
			return
		}
		require.NotEmpty(t, intents)
		for _, i := range intents {
			intent.Lint(i)
			if r, err := d.Render(i, Options{}); err == nil {
				_, err = d.Parse([]byte(r.Config), i.Chip)
				require.NoError(t, err)
			}
		}
	})
}
