// Package analysis finds out what queue pairs did and why they were slow. A [Report] has a [Flow]
// for each queue pair: counts, distributions, and series of bounded size, whatever the length of
// the log. [Report.Log] fills it with events of package sqlog; package capture fills it with
// packets.
package analysis
