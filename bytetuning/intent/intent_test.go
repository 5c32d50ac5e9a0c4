package intent

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

const leaf = `layers:
  - name: leaf
    chip: {cell: 256B, buffer: 32MiB, ports: 32}
    kmin: 200KB
    kmax: 400KB
    pmax: 20%
    headroom: 35840B
    alpha: 1/8
    priority: 3
    queue: 3
    interfaces: [Ethernet0, Ethernet4]
`

func TestParse(t *testing.T) {
	intents, err := Parse([]byte(leaf))
	require.NoError(t, err)
	require.Len(t, intents, 1)
	assert.Equal(t, &Intent{
		Name: "leaf", Chip: Chip{Cell: 256, Buffer: 32 * units.MiB, Ports: 32},
		Watermark: bytetuning.Watermark{Kmin: 200_000, Kmax: 400_000, Pmax: 20, Headroom: 35_840,
			Alpha: -3},
		Priority: 3, Queue: 3, Interfaces: []string{"Ethernet0", "Ethernet4"},
	}, intents[0])
	warnings, err := intents[0].Validate()
	require.NoError(t, err)
	assert.Empty(t, warnings)
	text, err := Encode(intents)
	require.NoError(t, err)
	back, err := Parse(text)
	require.NoError(t, err)
	assert.Equal(t, intents, back)
}

func TestParseErrors(t *testing.T) {
	for want, edit := range map[string][2]string{
		"field kmid not found":            {"kmin", "kmid"},
		`layer 1 "leaf": kmin: units: si`: {"200KB", "200 cells"},
		`kmax: missing`:                   {"    kmax: 400KB\n", ""},
		`pmax: bytetuning: "120%"`:        {"20%", "120%"},
		`alpha: bytetuning: alpha "0.3"`:  {"1/8", "0.3"},
		`alpha, xoff: want one of`:        {"alpha: 1/8", "alpha: 1/8\n    xoff: 1MB"},
		`xoff: 0`:                         {"alpha: 1/8", "xoff: 0"},
		`name: missing`:                   {"name: leaf", "name: ''"},
		`cannot unmarshal`:                {"priority: 3", "priority: high"},
		`buffer: units`:                   {"32MiB", "large"},
		`senders: want 0 or more`:         {"priority: 3", "traffic: {senders: -1}"},
		`lossy alpha`:                     {"priority: 3", "lossy: {alpha: x}"},
	} {
		_, err := Parse([]byte(strings.Replace(leaf, edit[0], edit[1], 1)))
		assert.ErrorContains(t, err, want)
	}
	for want, text := range map[string]string{
		"it is empty": "", "no layers": "layers: []", "more than one document": leaf + "---\n" +
			leaf,
		`"leaf" is there twice`: leaf + strings.TrimPrefix(leaf, "layers:\n"),
		"cannot unmarshal":      "[1]",
	} {
		_, err := Parse([]byte(text))
		assert.ErrorContains(t, err, want)
	}
}

func parsed(t *testing.T, change func(*Intent)) *Intent {
	intents, err := Parse([]byte(leaf))
	require.NoError(t, err)
	if change != nil {
		change(intents[0])
	}
	return intents[0]
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Intent){
		"priority 8":                     func(i *Intent) { i.Priority = 8 },
		"queue -1":                       func(i *Intent) { i.Queue = -1 },
		"Kmin 400000B":                   func(i *Intent) { i.Kmin = i.Kmax },
		"Pmax 0%":                        func(i *Intent) { i.Pmax = 0 },
		"leave nothing of the buffer":    func(i *Intent) { i.Headroom = units.MiB },
		"Kmax 400000B is not below XOFF": func(i *Intent) { i.XOFF = 300_000 },
		"XOFF, 251221B":                  func(i *Intent) { i.Alpha = -7 },
		"xon_offset": func(i *Intent) {
			i.XOFF, i.XONOffset = 500_000, 600_000
		},
		"xoff -1B":          func(i *Intent) { i.XOFF = -1 },
		"want 1GiB at most": func(i *Intent) { i.Kmax = 1 << 60 },
		"2000 ports":        func(i *Intent) { i.Chip.Ports = 2000 },
		"no name":           func(i *Intent) { i.Name = "" },
	} {
		_, err := parsed(t, change).Validate()
		assert.ErrorContains(t, err, want)
	}
	warnings, err := parsed(t, func(i *Intent) { i.Chip.Buffer = 0 }).Validate()
	require.NoError(t, err)
	assert.Equal(t, []string{"leaf: the buffer is not known: Kmax 400000B cannot be compared " +
		"with XOFF (alpha 1/8)"}, warnings)
}

// TestLint: the three cases of section 2.2, found where they are and nowhere else.
func TestLint(t *testing.T) {
	calm := func(i *Intent) {
		i.Traffic.Senders = 8
		i.Lossy = &Lossy{Alpha: -5}
	}
	findings, questions := Lint(parsed(t, calm))
	assert.Empty(t, findings)
	assert.Empty(t, questions)

	findings, questions = Lint(parsed(t, nil))
	assert.Empty(t, findings)
	assert.Len(t, questions, 2, "%v", questions)

	for want, change := range map[string]func(*Intent){
		"leaf: case I: Kmax 400000B is not below XOFF 251221B: PFC comes before ECN, and " +
			"upstream switches without PFC": func(i *Intent) {
			i.Alpha, i.Upstream.NoPFC, i.Lossy.Alpha = -7, true, -7
			i.Lossy.Kmax = 1
		},
		"leaf: case II: 40 senders at XOFF 1000000B need 40000000B": func(i *Intent) {
			i.XOFF, i.Traffic.Senders = 1_000_000, 40
		},
		"the egress queue 8MiB: it drops before": func(i *Intent) {
			i.Chip.Egress = 8 * units.MiB
		},
		"leaf: case III: the lossy class may take alpha 1": func(i *Intent) {
			i.Lossy.Alpha = 0
		},
	} {
		findings, _ := Lint(parsed(t, func(i *Intent) { calm(i); change(i) }))
		require.Len(t, findings, 1, want)
		assert.Contains(t, findings[0].String(), want)
	}
	findings, _ = Lint(parsed(t, func(i *Intent) { calm(i); i.Priority = 9 }))
	require.Len(t, findings, 1)
	assert.Contains(t, findings[0].String(), "priority 9")
}

// TestCases: the files that the CLI's examples use.
func TestCases(t *testing.T) {
	for file, want := range map[string]string{"case1": "I", "case2": "II", "case3": "III",
		"good": ""} {
		text, err := os.ReadFile("../../testdata/" + file + ".yaml")
		require.NoError(t, err)
		intents, err := Parse(text)
		require.NoError(t, err)
		got := ""
		for _, i := range intents {
			findings, questions := Lint(i)
			assert.Empty(t, questions, file)
			for _, f := range findings {
				got += f.Case
			}
		}
		assert.Equal(t, want, got, file)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(leaf))
	for _, s := range []string{"", "layers:",
		"layers: [{name: a, kmin: 0, kmax: 1, pmax: 1, headroom: 0, xoff: 9}]", "a: &a [*a]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		intents, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Encode(intents)
		require.NoError(t, err)
		back, err := Parse(again)
		require.NoError(t, err, "%s", again)
		require.Len(t, back, len(intents))
		for n, i := range intents {
			_, first := i.Validate()
			_, second := back[n].Validate()
			require.Equal(t, first == nil, second == nil)
			Lint(i)
		}
	})
}
