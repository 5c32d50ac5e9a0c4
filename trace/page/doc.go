// Package page draws a report of package analysis as a self-contained HTML page: a table of queue
// pairs and, of the one that is selected, its sequence, round trips, window, rate, marks and limits
// over time.
package page
