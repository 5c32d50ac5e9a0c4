//go:build race

package main

// floodRate is a tenth of the rate without the race detector, which makes everything ten times as
// slow.
const floodRate = 1000
