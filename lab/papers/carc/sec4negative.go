package carclab

import (
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// sec4Cache has 16 384 lines.
var sec4Cache = hostmodel.CacheConfig{Size: 16384 * 64, Ways: 16, DDIO: 2}

// sec4Walk is the memory of the antagonist, which reads a line for each line of a message that is
// read.
const sec4Walk = 8192 * 64

// sec4negative: memory traffic unknown to CARC takes half of the cache.
var sec4negative = &experiment.Experiment{
	ID:    "carc/sec4-negative",
	Seeds: oneSeed,
	Cells: func(experiment.Scale) []experiment.Cell {
		return experiment.Sweep("delta=%s", "off", "auto")
	},
	Run: func(j *experiment.Job) error {
		var loads []load
		for i := range 4 {
			loads = append(loads, load{thread: i, packet: 256, answer: 256, ticks: 1000, flow: 1,
				walks: true})
		}
		// rings of four times the cache
		mc := machine{cache: sec4Cache, link: 50 * gbps, ring: 4096, hit: lineHit, miss: lineMiss}
		m, err := newModel(mc, scheme{carc: "mode=rr,delta=" + j.Params.(string),
			order: hostmodel.LIFO}, loads)
		if err != nil {
			return err
		}
		m.walk = m.host.Walk(sec4Walk, false)
		const warm, time = 30 * ms, 30 * ms
		delta, unconsumed := j.Series("delta"), j.Series("unconsumed")
		m.clock.Every(50*us, func(now units.Time) bool {
			delta.Add(units.Duration(now).Seconds(), -m.credits.Sensor().Cut())
			unconsumed.Add(units.Duration(now).Seconds(),
				float64(m.host.Unconsumed())/float64(mc.cache.Size))
			if now.After(units.Time(warm)) {
				j.Value("settled", -m.credits.Sensor().Cut())
			}
			return true
		})
		return m.measure(j, warm, time)
	},
	Judge: func(r *experiment.Results) {
		with, without := r.Cell("delta=auto"), r.Cell("delta=off")
		r.Claim("settles", with.Values("settled").Mean())
		r.Note("settles", "from %.2f to %.2f, a sawtooth", with.Values("settled").Min(),
			with.Values("settled").Max())
		r.Claim("misses", with.Values("miss")[0]/without.Values("miss")[0])
		r.Note("misses", "%.3f of reads with, %.3f without", with.Values("miss")[0],
			without.Values("miss")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		delta := figure.Steps("delta", "Half of the cache is another's", "time (ms)",
			"delta, parts of C")
		unconsumed := figure.Steps("unconsumed", "Half of the cache is another's", "time (ms)",
			"unconsumed, parts of the cache")
		r.Curves(delta, "delta", 1e3, 1)
		r.Curves(unconsumed, "unconsumed", 1e3, 1)
		return []figure.Figure{delta, unconsumed, statesTable(r)}
	},
}
