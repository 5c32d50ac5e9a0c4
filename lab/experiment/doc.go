// Package experiment defines the experiments of the lab. An experiment is one short file: the
// simulations it needs ([Experiment.Cells]), the code of one of them ([Experiment.Run]), the values
// of
// the catalogue's claims computed from all of them ([Experiment.Judge]), and figures
// ([Experiment.Figures]).
//
//	package fabriclab
//
//	// incast: n hosts send to one at once, and the switch must hold what the link cannot carry.
//	var incast = &experiment.Experiment{
//		ID: "fabric/incast",
//		Cells: func(s experiment.Scale) []experiment.Cell {
//			return experiment.Sweep("n=%d", experiment.At(s, []int{2, 8, 32}, []int{2, 8})...)
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
//			tail := func(cell string) float64 { return r.Cell(cell).Values("fct").Percentile(99) }
//			r.Claim("largest-fct", experiment.Seconds(r.Values("fct").Max()))
//			r.Claim("tail", tail("n=8")/tail("n=2"))
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
// give the same record. Judge and Figures must depend on the records alone: a report runs them
// again
// without a simulation. A claim is judged on the data of all seeds together.
//
// By convention records are in SI units (seconds, bytes, bits per second), and figures scale them.
//
// The package imports claims, figure and units. It knows no simulator: experiments bring theirs.
package experiment
