package carclab

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/internal/hostsense"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// realTicks are the numbers of dependent additions for a message.
func realTicks(s experiment.Scale) []int {
	return experiment.At(s, []int{0, 250, 500, 1000, 2000}, []int{0, 1000})
}

// presumed is the assumed cache size of a machine that does not report it.
const presumed = 32 * units.MiB

// realBacklogs are the distances of the consumer behind the producer, in parts of the cache.
func realBacklogs(s experiment.Scale) []float64 {
	return experiment.At(s, []float64{1. / 8, 1. / 4, 1. / 2, 3. / 4, 1, 1.5, 2, 4, 8},
		[]float64{1. / 8, 2})
}

// fig8real: a producer and a consumer on this machine, over a ring four times the cache, with
// credits and without; and the time of a message by the consumer's distance, beside the model of
// the cache.
var fig8real = &experiment.Experiment{
	ID:    "carc/fig8-real",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		llc, err := hostsense.This().LLC()
		if err != nil {
			llc.Size = presumed
		}
		j.Value("llc", float64(llc.Size))
		ring := make([]byte, experiment.At(j.Scale, 9, 4)*int(llc.Size)/realMessage*realMessage)
		for i := 0; i < len(ring); i += 4096 {
			ring[i] = 1 // the pages are mapped
		}
		rounds := experiment.At(j.Scale, 7, 3)
		lasts := experiment.At(j.Scale, 300*time.Millisecond, 40*time.Millisecond)
		for range rounds {
			hit, miss := touch(ring[:llc.Size/8]), touch(ring)
			missed := (hit + miss) / 2
			j.Value("touch hit", hit.Seconds())
			j.Value("touch miss", miss.Seconds())
			j.Value("read hit", readMessage(ring[:llc.Size/8]).Seconds())
			j.Value("read miss", readMessage(ring).Seconds())
			for _, part := range realBacklogs(j.Scale) {
				behind := int(part * float64(llc.Size) / realMessage)
				size := (behind + 2*burst) * realMessage
				r := realRun{ring: ring[:min(size, len(ring)/realMessage*realMessage)],
					behind: behind, missed: missed, lasts: lasts, warm: 2 * uint64(behind)}
				got, err := r.run()
				if err != nil {
					return err
				}
				j.Value(backlogName(part), got.reading.Seconds())
			}
			for _, ticks := range realTicks(j.Scale) {
				for _, credits := range []string{"", "mode=oneway,delta=auto"} {
					r := realRun{ring: ring[:4*int(llc.Size)], ticks: ticks, credits: credits,
						llc: llc.Size, missed: missed, lasts: lasts}
					r.warm = experiment.At(j.Scale, uint64(2), 1) * uint64(len(r.ring)/realMessage)
					got, err := r.run()
					if err != nil {
						return err
					}
					name := realName(ticks, credits != "")
					j.Value(name+" time", got.perMessage.Seconds())
					j.Value(name+" misses", float64(got.misses)/float64(max(1, got.canaries)))
					j.Value(name+" most", float64(got.most)*realMessage)
				}
				if err := j.Context().Err(); err != nil {
					return err
				}
			}
		}
		for _, part := range realBacklogs(j.Scale) {
			missed, err := modelled(part)
			if err != nil {
				return err
			}
			j.Value("model "+backlogName(part), missed)
		}
		return nil
	},
	Judge: func(r *experiment.Results) {
		full := experiment.At(r.Scale, 1., 2)
		off, on := experiment.Values{}, experiment.Values{}
		for _, ticks := range realTicks(r.Scale)[1:] {
			off = append(off, r.Values(realName(ticks, false)+" misses")...)
			on = append(on, r.Values(realName(ticks, true)+" misses")...)
		}
		r.Claim("fewer-misses", off.Percentile(50)/(on.Percentile(50)+0.01))
		r.Note("fewer-misses", "canaries that missed, median over ticks above 0 and rounds: %.3f "+
			"without credits, %.3f with; a first touch takes %.0f ns in the cache and %.0f in "+
			"memory, including the time of the clock. A message takes %.0f to %.0f ns (quartiles "+
			"of rounds) with an eighth of the cache unconsumed, and %.0f to %.0f with %g times "+
			"the cache: where two cores share no cache, as the host may place them, the consumer "+
			"finds nothing of the producer's in its own cache, however little it is",
			off.Percentile(50), on.Percentile(50), r.Values("touch hit").Percentile(50)*1e9,
			r.Values("touch miss").Percentile(50)*1e9,
			r.Values(backlogName(1./8)).Percentile(25)*1e9,
			r.Values(backlogName(1./8)).Percentile(75)*1e9,
			r.Values(backlogName(full)).Percentile(25)*1e9,
			r.Values(backlogName(full)).Percentile(75)*1e9, full)
		without, with := r.Values(realName(0, false)+" time"), r.Values(realName(0, true)+" time")
		r.Claim("not-slower", without.Min()/with.Min())
		r.Note("not-slower", "the best of %d runs each, which others on this machine disturb "+
			"least: %.0f ns a message without, %.0f with; medians %.0f and %.0f",
			len(with), without.Min()*1e9, with.Min()*1e9, without.Percentile(50)*1e9,
			with.Percentile(50)*1e9)
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		took := figure.Lines("backlog",
			"4 KiB messages on this machine, a consumer behind its producer",
			"unconsumed (parts of the cache)", "a message (ns)")
		took.X.Log = true
		var x, real, model []float64
		for _, part := range realBacklogs(r.Scale) {
			x = append(x, part)
			real = append(real, r.Values(backlogName(part)).Percentile(25)*1e9)
			missed := r.Values("model " + backlogName(part))[0]
			model = append(model,
				((1-missed)*r.Values("read hit").Percentile(25)+missed*
					r.Values("read miss").Percentile(25))*1e9)
		}
		took.Add("measured", x, real)
		took.Add("model", x, model)
		t := &figure.Table{Name: "machine", Title: "The same, and what quarters of runs say",
			Header: []string{"unconsumed (parts of the cache)", "measured, first quartile (ns)",
				"median", "third quartile", "model"}}
		for i, part := range realBacklogs(r.Scale) {
			v := r.Values(backlogName(part)).Scaled(1e9)
			t.Row(part, int(real[i]), int(v.Percentile(50)), int(v.Percentile(75)), int(model[i]))
		}
		rate := figure.Lines("throughput", "4 KiB messages on this machine",
			"additions per message", "throughput (Gb/s)")
		miss := figure.Lines("misses", "4 KiB messages on this machine", "additions per message",
			"canaries that missed (%)")
		most := &figure.Table{Name: "ticks", Title: "Medians",
			Header: []string{"additions", "credits", "ns a message", "canaries that missed",
				"most unconsumed (MB)"}}
		for _, on := range []bool{false, true} {
			var x, y, z []float64
			for _, ticks := range realTicks(r.Scale) {
				name := realName(ticks, on)
				took := r.Values(name + " time").Percentile(50)
				missed := r.Values(name + " misses").Percentile(50)
				x, y, z = append(x, float64(ticks)), append(y, realMessage*8/took/1e9), append(z,
					100*missed)
				most.Row(ticks, on, int(took*1e9), fmt.Sprintf("%.3f", missed),
					fmt.Sprintf("%.1f", r.Values(name+" most").Percentile(50)/1e6))
			}
			label := map[bool]string{false: "without credits", true: "CARC"}[on]
			rate.Add(label, x, y)
			miss.Add(label, x, z)
		}
		return []figure.Figure{took, t, rate, miss, most}
	},
}

func backlogName(part float64) string { return fmt.Sprintf("backlog %g", part) }

func realName(ticks int, on bool) string {
	if on {
		return fmt.Sprintf("%d carc", ticks)
	}
	return fmt.Sprintf("%d off", ticks)
}

// touch returns the median time of a first touch of lines, in random order, of memory that was all
// read before, each timed by itself.
func touch(memory []byte) time.Duration {
	var sum uint64
	for i := 0; i < len(memory); i += 64 {
		sum += uint64(memory[i])
	}
	lots := rand.New(rand.NewPCG(1, 2))
	times := make([]time.Duration, 4096)
	for i := range times {
		line := memory[lots.IntN(len(memory)/64)*64:]
		before := time.Now()
		sum += binary.LittleEndian.Uint64(line)
		times[i] = time.Since(before)
	}
	sink.Store(sum)
	slices.Sort(times)
	return times[len(times)/2]
}

// readMessage returns the minimum time of a message for a program that reads the same memory again
// and again.
func readMessage(memory []byte) time.Duration {
	best := time.Duration(1 << 62)
	for round := range 6 {
		var sum uint64
		before := time.Now()
		for i := 0; i < len(memory); i += 64 {
			sum += binary.LittleEndian.Uint64(memory[i:])
		}
		took := time.Since(before)
		sink.Store(sum)
		if round > 0 {
			best = min(best, took)
		}
	}
	return best * realMessage / time.Duration(len(memory))
}

// modelled returns the part of a message that misses according to the model of the cache: a
// processor writes into any way.
func modelled(part float64) (missed float64, err error) {
	const smaller = 16 // than the machine's, in all
	cache := hostmodel.CacheConfig{Size: 32 * units.MiB / smaller, Ways: 16, DDIO: 16}
	h, err := hostmodel.New(hostmodel.Config{Cache: &cache})
	if err != nil {
		return 0, err
	}
	behind := int(part * float64(cache.Size) / realMessage)
	q, err := h.Queue(behind+1, realMessage, hostmodel.FIFO)
	if err != nil {
		return 0, err
	}
	for range behind {
		q.Receive(realMessage, 0)
	}
	var before hostmodel.CacheStats
	const rounds = 20_000
	for n := range 2 * rounds {
		if n == rounds {
			before = h.Cache.Stats
		}
		q.Receive(realMessage, 0)
		m, _ := q.Read()
		q.Release(m)
	}
	return h.Cache.Stats.Since(before).MissShare(), nil
}
