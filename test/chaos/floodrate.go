//go:build !race

package main

// floodRate is the number of attempts per second, if the machine can make them.
const floodRate = 10000
