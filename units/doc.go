// Package units has the types of goroce's quantities: [Time] and [Duration] in integer picoseconds,
// [Bytes], and [BitRate].
//
// Picoseconds keep link times exact: one byte at 800 Gb/s takes 10 ps, so a simulated link never
// accumulates a rounding error. An int64 of picoseconds wraps after 106 days, so times are compared
// by signed difference ([Time.Before], [Time.After]) and never by <.
//
// Nothing here has state. The package imports only the standard library; every package of goroce
// may import it.
package units
