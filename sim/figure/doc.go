// Package figure draws what experiments found: a [Plot] becomes an SVG, a [Table] a CSV. Both say
// what they show; how it looks is decided here, once: size, fonts, colours that the colour-blind
// tell apart, the legend beside the data. The same figure gives the same bytes.
//
//	p := figure.Lines("queue", "Queue of the bottleneck", "time (µs)", "queue (KB)")
//	p.Add("8 senders", x, y)
//	p.Add("32 senders", x32, y32)
//
// The package imports gonum's plot and nothing of ours.
package figure
