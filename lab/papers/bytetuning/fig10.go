package bytetuninglab

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/bytetuning/telemetry"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// load is the traffic of two senders.
type load struct {
	Name     string
	QPs      int
	Message  units.Bytes
	Baseline string // whose thresholds allow such a queue
	NIC      bool   // NVIDIA's DCQCN, not the paper's
}

var loads = []load{{"idle", 0, 0, "experience", false},
	{"light", 2, 64 * units.KiB, "experience", false},
	{"heavy", 10, units.MiB, "experience", false},
	{"heavy, NIC", 10, units.MiB, "experience", true}}

// fig10Period stands for a second of the paper's telemetry.
const fig10Period = 2 * ms

// fig10: a probe's latency against the queue, and INT's throughput against that of counters.
var fig10 = &experiment.Experiment{
	ID:    "bytetuning/fig10",
	Seeds: oneSeed,
	Cells: func(experiment.Scale) (cells []experiment.Cell) {
		for _, l := range loads {
			cells = append(cells, experiment.Cell{Name: l.Name, Params: l})
		}
		return cells
	},
	Run: runFig10,
	Judge: func(r *experiment.Results) {
		var latency, queue, off experiment.Values
		for _, c := range r.Cells() {
			if c.Params.(load).NIC {
				continue
			}
			latency, queue = append(latency, c.Values("latency")...), append(queue,
				c.Values("queue")...)
			if c.Name != "idle" {
				for i, ont := range c.Values("ont") {
					off = append(off, math.Abs(c.Values("int")[i]/ont-1))
				}
			}
		}
		slope, correlation := line(queue, latency)
		cell := (25 * gbps).Duration(bytetuning.Cell).Seconds()
		r.Claim("correlated", correlation)
		nic := r.Cell("heavy, NIC")
		_, alone := line(nic.Values("queue"), nic.Values("latency"))
		r.Note("correlated", "with NVIDIA's DCQCN the heavy load's queue is %.0f cells on "+
			"average, and within that load the correlation is %.2f",
			nic.Values("queue").Mean()/256, alone)
		r.Claim("linear", slope*float64(bytetuning.Cell)/cell)
		r.Claim("int-ont", off.Mean())
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		p := figure.Points("latency", "Latency of a probe against the queue, periods of 2 ms",
			"mean queue (cells)", "mean latency (µs)")
		t := figure.Points("throughput", "Throughput by INT against that by counters", "ONT (Gb/s)",
			"INT (Gb/s)")
		for _, c := range r.Cells() {
			p.Add(c.Name, c.Values("queue").Scaled(1./256), c.Values("latency").Scaled(1e6))
			if c.Name != "idle" {
				t.Add(c.Name, c.Values("ont").Scaled(1e-9), c.Values("int").Scaled(1e-9))
			}
		}
		return []figure.Figure{p, t}
	},
}

// runFig10 runs one load, and a WRITE of 64 bytes to the receiver again and again.
func runFig10(j *experiment.Job) error {
	l := j.Params.(load)
	t, err := scene.New("2to1")
	if err != nil {
		return err
	}
	// a host that does not send, below the first ToR switch
	t.Seed, t.QPs, t.Probe = j.Seed, l.QPs, 1
	if !l.NIC {
		publish(&t.Scene)
	}
	if l.Message > 0 {
		t.Message = l.Message
	}
	w, err := bytetuning.Baseline(l.Baseline, t.Path())
	if err != nil {
		return err
	}
	if err := t.Apply(j.Context(), bytetuning.Point{w}); err != nil {
		return err
	}
	r, err := t.Start()
	if err != nil {
		return err
	}
	probe := &probing{r: r, from: t.Probe, to: t.ToRs*t.Hosts - 1}
	if err := probe.start(); err != nil {
		return err
	}
	int_, err := telemetry.Named("int")
	if err != nil {
		return err
	}
	length := r.Egress.QueueLen(0)
	var in *telemetry.Collector
	r.Egress.Watch(0, func(at units.Time, now units.Bytes) {
		if left := length - now; left > 0 && in != nil {
			in.Packet(at, left, length)
		}
		length = now
	})
	for range experiment.At(j.Scale, 20, 3) {
		in = &telemetry.Collector{Source: int_}
		from, before := r.Net.Now(), r.Egress.QueueStats(0).Bytes
		probe.done = nil
		end := from.Add(fig10Period)
		if err := r.Net.Run(end); err != nil {
			return err
		}
		if probe.err != nil {
			return probe.err
		}
		if len(probe.done) == 0 {
			return fmt.Errorf("no probe completed in %v", fig10Period)
		}
		j.Value("latency", probe.done.Mean())
		j.Value("queue", r.Queue.Mean(from, end))
		if l.QPs > 0 {
			j.Value("ont", 8*float64(r.Egress.QueueStats(0).Bytes-before)/fig10Period.Seconds())
			s, err := in.Sample(0, end, fig10Period)
			if err != nil {
				return err
			}
			j.Value("int", float64(s.Throughput))
		}
	}
	return nil
}

// probing is a small flow that repeats.
type probing struct {
	r        *scene.Run
	from, to int
	done     experiment.Values // s
	err      error
}

// start sends a probe each 20 µs whatever became of the earlier ones, so that each moment of the
// queue has the same weight.
func (p *probing) start() error {
	p.r.Net.Every(20*us, func(begun units.Time) bool {
		f, err := p.r.Cluster.Start(workload.Flow{Src: p.from, Dst: p.to, Bytes: 64})
		if err != nil {
			p.err = err
			return false
		}
		p.r.Net.Every(units.Microsecond/4, func(units.Time) bool {
			if f.Done != 0 {
				p.done = append(p.done, f.Done.Sub(begun).Seconds())
			}
			return f.Done == 0
		})
		return true
	})
	return p.err
}

// line returns the slope of y on x by least squares, and their correlation.
func line(x, y experiment.Values) (slope, correlation float64) {
	mx, my := x.Mean(), y.Mean()
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	return xy / xx, xy / math.Sqrt(xx*yy)
}
