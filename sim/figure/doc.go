// Package figure draws results: a [Plot] becomes an SVG, a [Table] a CSV. A figure specifies its
// contents; the package decides its appearance: size, fonts, colours that the colour-blind can
// distinguish, the legend beside the data. The same figure gives the same bytes.
//
//	p := figure.Lines("queue", "Queue of the bottleneck", "time (µs)", "queue (KB)")
//	p.Add("8 senders", x, y)
//	p.Add("32 senders", x32, y32)
//
// The package imports gonum's plot and nothing of ours.
package figure
