// Package units gives every quantity of goroce its type: [Time] and [Duration] in integer
// picoseconds, [Bytes], and [BitRate].
//
// Picoseconds are exact where it matters: one byte at 800 Gb/s takes 10 ps, so a simulated link
// never accumulates a rounding error. An int64 of them wraps after 106 days; that is why times are
// compared by signed difference ([Time.Before], [Time.After]) and never by <.
//
// Who owns what: nothing here has state. The package imports only the standard library's parsers
// and formatters; everything else in goroce may import it.
package units
