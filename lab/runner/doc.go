// Package runner runs experiments, spread over cores and machines, and keeps what they find.
//
// A [Plan] is an experiment at a scale with its seeds: a [Task] for each cell and seed. [Run] does
// the tasks that nobody has done yet and writes each one's record into a file of its own; it may be
// stopped at any time, and goes on from there when called again. [Finish] takes the records of a
// plan, once all are there, to data.csv, claims.json and the figures. [Merge] brings together what
// several machines have done.
//
//	DIR/paper/figure/plan.json              scale and seeds
//	DIR/paper/figure/jobs/<cell>-<seed>.json   the record of a task, or the error it ended with
//	DIR/paper/figure/data.csv               all records: cell, seed, name, x, y
//	DIR/paper/figure/claims.json            a verdict for every claim
//	DIR/paper/figure/*.svg, *.csv           figures and tables
//
// A record counts as long as it was made by the same code ([Code]) from the same set-up: scale,
// cell, parameters and seed. Every file is written beside its place and then moved there, so
// several processes may share a directory.
//
// The package imports claims, experiment and figure.
package runner
