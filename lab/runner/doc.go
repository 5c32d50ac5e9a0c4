// Package runner runs experiments, spread over cores and machines, and keeps their results.
//
// A [Plan] is an experiment at a scale with its seeds: a [Task] for each cell and seed. [Run] does
// the tasks that are not done yet and writes each one's record into a file of its own; it may be
// stopped at any time and resumes when it is called again. [Finish] turns the records of a complete
// plan into data.csv, claims.json and the figures. [Merge] merges the records of several machines.
//
//	DIR/paper/figure/plan.json              scale and seeds
//	DIR/paper/figure/jobs/<cell>-<seed>.json   the record of a task, or its error
//	DIR/paper/figure/data.csv               all records: cell, seed, name, x, y
//	DIR/paper/figure/claims.json            a verdict for every claim
//	DIR/paper/figure/*.svg, *.csv           figures and tables
//
// A record is valid as long as it was made by the same code ([Code]) from the same set-up: scale,
// cell, parameters and seed. Every file is written beside its place and then renamed, so several
// processes may share a directory.
//
// The package imports claims, exchange, experiment and figure.
package runner
