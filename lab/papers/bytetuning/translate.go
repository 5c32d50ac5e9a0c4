package bytetuninglab

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/dialect"
	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// wanted is the worked example, by dialect: lines, or parts of them, and the settings that are left
// out with a warning.
var wanted = []struct {
	dialect string
	parts   []string
	omitted []string
}{
	{"sonic", []string{`"green_min_threshold": "200000"`, `"green_max_threshold": "400000"`,
		`"green_drop_probability": "20"`, `"xoff": "35840"`, `"dynamic_th": "-3"`}, nil},
	{"nxos", []string{"minimum-threshold 200 kbytes maximum-threshold 400 kbytes " +
		"drop-probability 20"}, []string{"alpha", "headroom"}},
	{"eos", []string{"minimum-threshold 200 kbytes maximum-threshold 400 kbytes " +
		"max-mark-probability 20"}, []string{"alpha"}},
	{"h3c", []string{"low-limit 782 high-limit 1563 discard-probability 20", "dynamic 11",
		"headroom 140"}, nil},
	{"huawei", []string{"low-limit 200000 high-limit 400000 discard-percentage 20",
		"hdrm 36 kbytes"}, []string{"alpha"}},
	{"onyx", []string{"minimum-absolute 200 maximum-absolute 400", "alpha 1/8"}, []string{"pmax"}},
	{"nvue", []string{"min-threshold 200000", "max-threshold 400000", "probability 20"},
		[]string{"alpha"}},
}

func vector() *intent.Intent {
	return &intent.Intent{
		Name: "leaf",
		Chip: intent.Chip{Cell: 256},
		Watermark: bytetuning.Watermark{Kmin: 200_000, Kmax: 400_000, Pmax: 20, Headroom: 35_840,
			Alpha: -3},
		Priority: 3, Queue: 3, Interfaces: []string{"1/1"},
	}
}

// translate: the worked example in seven dialects, and a thousand random intents there and back.
var translate = &experiment.Experiment{
	ID:    "bytetuning/sec5.4-translate",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		mismatches := 0
		for _, w := range wanted {
			d, err := dialect.Lookup(w.dialect)
			if err != nil {
				return err
			}
			i := vector()
			if w.dialect != "h3c" {
				i.Chip.Cell = 0 // the example rounds to cells in dialects that count cells
			}
			r, err := d.Render(i, dialect.Options{})
			if err != nil {
				return err
			}
			for _, part := range w.parts {
				if !strings.Contains(r.Config, part) {
					mismatches++
				}
			}
			if !slices.Equal(r.Omitted, w.omitted) {
				mismatches++
			}
		}
		j.Value("mismatches", float64(mismatches))
		random := rand.New(rand.NewPCG(j.Seed, 0))
		for range 1000 {
			i := vector()
			i.Kmin = units.Bytes(random.IntN(2_000_000))
			i.Kmax = i.Kmin + 2000 + units.Bytes(random.IntN(2_000_000))
			i.Pmax = bytetuning.Percent(1 + random.IntN(100))
			i.Headroom = units.Bytes(20_000 + random.IntN(300_000))
			i.Alpha = bytetuning.MinAlpha + bytetuning.Alpha(random.IntN(11))
			i.Priority, i.Queue = random.IntN(8), random.IntN(8)
			i.Chip.Cell = []units.Bytes{208, 256, 384}[random.IntN(3)]
			for _, name := range dialect.Names() {
				bad, err := lostInTranslation(name, i)
				if err != nil {
					return err
				}
				j.Value("violations "+name, float64(bad))
			}
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("vector", r.Values("mismatches")[0])
		sum := 0.
		for _, name := range dialect.Names() {
			sum += r.Values("violations " + name).Sum()
		}
		r.Claim("roundtrip", sum)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "dialects",
			Title:  "The worked example, and 1000 random intents there and back",
			Header: []string{"dialect", "left out", "violations"}}
		for _, w := range wanted {
			t.Row(w.dialect, strings.Join(w.omitted, " "), r.Values("violations "+w.dialect).Sum())
		}
		return []figure.Figure{t}
	},
}

// lostInTranslation counts settings of an intent that come back changed, or below the intent.
func lostInTranslation(name string, i *intent.Intent) (bad int, err error) {
	d, err := dialect.Lookup(name)
	if err != nil {
		return 0, err
	}
	r, err := d.Render(i, dialect.Options{})
	if err != nil {
		return 0, fmt.Errorf("%v: %w", i.Watermark, err)
	}
	back, err := d.Parse([]byte(r.Config), i.Chip)
	if err != nil {
		return 0, err
	}
	e, b := r.Effective, back[0]
	for what, right := range map[string]bool{
		"kmin": e.Kmin == b.Kmin && e.Kmin >= i.Kmin, "kmax": e.Kmax == b.Kmax && e.Kmax >= i.Kmax,
		"pmax":     e.Pmax == b.Pmax,
		"headroom": e.Headroom == b.Headroom && e.Headroom >= i.Headroom,
		"alpha":    e.Alpha == b.Alpha,
		"priority": e.Priority == b.Priority, "queue": e.Queue == b.Queue,
	} {
		if !right && !slices.Contains(r.Omitted, what) {
			bad++
		}
	}
	return bad, nil
}
