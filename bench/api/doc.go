// Package api has benchmarks of what goroutines get from package goroce, as ratios to code on the
// polling core and to TCP. What is compared is measured in turns, round by round, in one run.
// docs/api-speed.md has the results.
//
// A benchmark opens two hosts in this process, each with a polling core. In variants with cores=any
// the scheduler places the two; with cores=one they share processor 0, which leaves the others to
// the goroutines that are measured.
package api
