package bytetuninglab

import (
	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/telemetry"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/sim/figure"
)

// table7: the cost of telemetry, in our encodings.
var table7 = &experiment.Experiment{
	ID:    "bytetuning/table7",
	Seeds: oneSeed,
	Run: func(j *experiment.Job) error {
		n := telemetry.Cluster()
		n.Packets = float64(n.Hosts) * 25e9 / 8 / 1024 // of all hosts at line rate, for sFlow
		for _, name := range telemetry.Names() {
			s, err := telemetry.Named(name)
			if err != nil {
				return err
			}
			j.Value(name+" sample", float64(s.SampleBytes(n)))
			j.Value(name+" overhead", float64(s.Overhead(n)))
		}
		j.Value("eq16", float64(bytetuning.InferredThroughput(200e3, 1024, 1./16))/1e9)
		return nil
	},
	Judge: func(r *experiment.Results) {
		r.Claim("int-efficient", r.Values("int sample")[0]/r.Values("ont sample")[0])
		r.Claim("eq16", r.Values("eq16")[0])
	},
	Figures: func(r *experiment.Results) []figure.Figure {
		t := &figure.Table{Name: "overhead", Title: "40 hosts, 7 switches of 32 ports and 8 " +
			"queues; a sample is the network's state, with INT and sFlow one report",
			Header: []string{"source", "bytes a sample", "Mb/s", "paper Mb/s"}}
		paper := map[string]float64{"snmp": 11.2, "sflow": 16.6, "ont": 13.78, "int": 10.2}
		for _, name := range telemetry.Names() {
			t.Row(name, r.Values(name + " sample")[0], r.Values(name + " overhead")[0]/1e6,
				paper[name])
		}
		return []figure.Figure{t}
	},
}
