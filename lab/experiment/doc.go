// Package experiment is what an experiment of the lab is written against. An experiment is one
// short file: which simulations it needs ([Experiment.Cells]), one of them ([Experiment.Run]), and
// what all of them together say about the claims of the catalogue ([Experiment.Judge]) and show in
// figures ([Experiment.Figures]).
//
//	package fabriclab
//
//	// incast: n hosts send to one at once, and the switch must hold what the link cannot carry.
//	var incast = &experiment.Experiment{
//		ID: "fabric/incast",
//		Cells: func(s experiment.Scale) []experiment.Cell {
//			return experiment.Sweep("n=%d", experiment.At(s, []int{2, 8, 32, 128}, []int{2, 8})...)
//		},
//		Run: func(j *experiment.Job) error {
//			net := star(j.Params.(int), j.Seed)
//			queue := j.Series("queue") // s, bytes
//			net.OnQueue(func(t units.Time, b units.Bytes) { queue.Add(t.Seconds(), float64(b)) })
//			if err := net.Run(j.Context()); err != nil {
//				return err
//			}
//			j.Value("fct", net.CompletionTimes()...) // s
//			return nil
//		},
//		Judge: func(r *experiment.Results) {
//			r.Claim("largest-fct", experiment.Seconds(r.Values("fct").Max()))
//			r.Claim("tail", r.Cell("n=8").Values("fct").Percentile(99)/r.Cell("n=2").Values("fct").Percentile(99))
//			r.Note("tail", "the paper's hosts have two ports")
//		},
//		Figures: func(r *experiment.Results) []figure.Figure {
//			queue := figure.Steps("queue", "Queue of the bottleneck", "time (µs)", "queue (KB)")
//			for _, c := range r.Cells() {
//				q := c.Seeds()[0].Series("queue").Scaled(1e6, 1e-3)
//				queue.Add(c.Name, q.X, q.Y)
//			}
//			return []figure.Figure{queue}
//		},
//	}
//
// A cell is simulated once for each seed, in any order, on any machine; the same cell and seed must
// give the same record. What a simulation found is in its record and nowhere else, so Judge and
// Figures must be functions of the records: they run again, without a simulation, when somebody
// asks for a report. A claim is judged on the data of all seeds together.
//
// By convention records are in SI units (seconds, bytes, bits per second), and figures scale them.
//
// The package imports claims, figure and units. It knows no simulator: experiments bring theirs.
package experiment
