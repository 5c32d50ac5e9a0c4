package prioplus

import (
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// chips are switches and their buffer for each Tb/s of their ports (section 2.2).
var chips = []struct {
	name   string
	buffer units.Bytes // for each Tb/s
}{{"Trident2", 9_400_000}, {"Tomahawk4", 4_400_000}}

// lossless is the space that a port needs beyond PFC's threshold for each lossless queue, by the
// artifact's rule: three link delays at line rate.
func lossless(rate units.BitRate, delay units.Duration) units.Bytes { return rate.Bytes(3 * delay) }

// fig2: headroom of lossless queues takes the buffer that they share.
var fig2 = &experiment.Experiment{
	ID:    "prioplus/fig2",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		const (
			reserve = 4 * units.KiB // of each queue (table of the figure)
			most    = 12
		)
		for _, chip := range chips {
			j.Value("buffer", float64(chip.buffer))
			left := j.Series(chip.name)
			for n := range most + 1 {
				// The number of ports does not matter: buffer and headroom are proportional to it.
				taken := units.Bytes(n) * (lossless(rate, 3*units.Microsecond) + reserve)
				left.Add(float64(n), 1-float64(taken)/(float64(chip.buffer)*float64(rate)/1e12))
			}
		}
		const ports, buffer = 6, 2_640_000 // a switch of figure 11: 4.4 MB/Tb/s
		n := 1
		for units.Bytes(n*ports)*lossless(rate, units.Microsecond) < buffer {
			n++
		}
		j.Value("full", float64(n))
		return nil
	},
	Judge: func(r *experiment.Results) {
		buffer := r.Values("buffer")
		r.Claim("ratio", buffer[0]/buffer[1])
		r.Claim("headroom-share", r.Values("full")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Lines("shared", "Buffer left to share, 100 Gb/s ports, links of 3 µs",
			"lossless priorities", "part of the buffer")
		for _, chip := range chips {
			r.Series(chip.name).Draw(p, chip.name)
		}
		return []figure.Figure{p}
	},
}

// oneSeed is the number of seeds of experiments without randomness.
func oneSeed(experiment.Scale) int { return 1 }
