package bytetuninglab

import (
	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/scene"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

// store is Redis over a transport.
type store struct {
	Name      string
	Watermark string // a baseline, from which Tuner begins unless it is ""
	Tuner     string
	TCP       bool
	PerPacket units.Duration // of the hosts' processors
}

func (s store) String() string { return s.Name }

// busyTCP is DCTCP on processors that take half a microsecond for a packet, as table 5's do by its
// throughput.
const busyTCP = "dctcp, 0.5 µs a packet"

// stores are table 5's columns, and one more: DCTCP on processors that take no time.
var stores = []store{
	{Name: "dctcp", Watermark: "dctcp", TCP: true},
	{Name: busyTCP, Watermark: "dctcp", TCP: true, PerPacket: us / 2},
	{Name: "experience", Watermark: "experience"},
	{Name: "manufacturer", Watermark: "manufacturer"},
	{Name: "bytetuning", Watermark: "experience", Tuner: central},
}

// table5Scene is 20 clients of ten threads, each of which sets one value of 64 KB after the other.
// The server's response is the acknowledgement.
func table5Scene(s experiment.Scale, seed uint64, c store) *scene.Target {
	l := scene.Lab()
	l.Hosts, l.Senders, l.QPs, l.Message, l.Requests, l.Seed = 10, 20, 10, 64*units.KiB, true, seed
	l.Settle, l.Period = 20*ms, 200*ms
	publish(&l)
	if s == experiment.Small {
		l.Rate, l.Senders, l.QPs, l.Settle, l.Period = 10*gbps, 5, 4, 10*ms, 60*ms
	}
	if c.TCP { // 20 µs more for a packet and its acknowledgement, as software takes
		l.Control, l.Lossy = "dctcp", true
		l.Host = fabric.HostConfig{TxDelay: 5 * us, RxDelay: 5 * us,
			CPU: fabric.CPU{PerPacket: c.PerPacket}}
	}
	return &scene.Target{Scene: l}
}

// table5: Redis clients in a closed loop.
var table5 = &experiment.Experiment{
	ID:    "bytetuning/table5",
	Seeds: func(s experiment.Scale) int { return experiment.At(s, 3, 1) },
	Cells: func(experiment.Scale) []experiment.Cell { return experiment.Sweep("%v", stores...) },
	Run: func(j *experiment.Job) error {
		c := j.Params.(store)
		t := table5Scene(j.Scale, j.Seed, c)
		w, err := bytetuning.Baseline(c.Watermark, t.Path())
		if err == nil && c.Tuner != "" {
			while := table5Scene(j.Scale, j.Seed, c)
			while.Settle, while.Period = experiment.At(j.Scale, 10*ms, 5*ms), experiment.At(j.Scale,
				10*ms, 5*ms)
			w, err = tune(j, while, c.Tuner, w, 0.5, experiment.At(j.Scale, 40, 20))
		}
		if err != nil {
			return err
		}
		recordWatermark(j, w)
		return measureRequests(j, t, w)
	},
	Judge: func(r *experiment.Results) {
		v := func(cell, name string) float64 { return r.Cell(cell).Values(name).Mean() }
		over := func(name, base string) float64 { return v("bytetuning", name) / v(base, name) }
		r.Claim("tuned", experiment.With("thr_exp", over("goodput", "experience")-1).
			With("thr_mfr", over("goodput", "manufacturer")-1))
		r.Claim("queue", experiment.With("exp", over("queue", "experience")).
			With("mfr", over("queue", "manufacturer")))
		r.Claim("rdma-over-tcp", v("experience", "goodput")/v(busyTCP, "goodput")-1)
		r.Note("rdma-over-tcp", "against DCTCP on processors that take 0.5 us for a packet, which "+
			"carries %.3g Gb/s (paper: 14.4). DCTCP on processors that take no time carries %.3g: "+
			"it fills the link, and 200 requests in the network hide 20 us",
			v(busyTCP, "goodput")/1e9, v("dctcp", "goodput")/1e9)
		r.Claim("iops", v("bytetuning", "iops")*float64(64*units.KiB)*8/v("bytetuning", "goodput"))
		t := table5Scene(r.Scale, 1, store{})
		r.Claim("fct-little", v("bytetuning", "mean")*v("bytetuning",
			"iops")/float64(t.Senders*t.QPs))
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "table5", Title: "Redis: SET of 64 KB in a closed loop",
			Header: []string{"", "throughput (Gb/s)", "IOPS (1000)", "FCT (ms)", "p99 (ms)",
				"queue (1000 cells)", "marked (1000/s)", "lost", "watermark"}}
		for _, c := range r.Cells() {
			v := func(name string) float64 { return c.Values(name).Mean() }
			t.Row(c.Name, v("goodput")/1e9, v("iops")/1e3, v("mean")*1e3, v("p99")*1e3,
				v("queue")/256e3, v("marked")/1e3, v("lost"),
				recordedWatermark(c.Seeds()[0]))
		}
		return []figure.Figure{t}
	},
}
