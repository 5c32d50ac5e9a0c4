// Command goroce is the benchmarks roce_write_bw, roce_send_lat and so on in one binary, for
// images. It runs the one that its first argument names, or the name by which it is called:
//
//	goroce roce_write_bw -d loop: -a
//	ln -s goroce roce_write_bw && ./roce_write_bw -d loop: -a
//
// The package imports bench/perftest and nicoffload/process.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goroce/goroce/bench/perftest"
	"github.com/goroce/goroce/nicoffload/process"
)

// Exit codes of the choice of a program.
const (
	exitOK    = 0
	exitUsage = 2
)

// tests are the programs.
var tests = []perftest.Test{
	{Verb: perftest.Write, Kind: perftest.Bandwidth},
	{Verb: perftest.Write, Kind: perftest.Latency},
	{Verb: perftest.Read, Kind: perftest.Bandwidth}, {Verb: perftest.Read, Kind: perftest.Latency},
	{Verb: perftest.Send, Kind: perftest.Bandwidth}, {Verb: perftest.Send, Kind: perftest.Latency},
	{Verb: perftest.Atomic, Kind: perftest.Bandwidth},
	{Verb: perftest.Atomic, Kind: perftest.Latency},
}

func main() {
	process.BeChild()
	test, args, code := choose(os.Args, os.Stdout, os.Stderr)
	if test == nil {
		os.Exit(code)
	}
	os.Args = args
	perftest.Main(test.Verb, test.Kind)
}

// choose returns the program that a command line is for, and its own command line. Without one it
// prints why, or the list of programs, and returns the exit code.
func choose(args []string, stdout, stderr io.Writer) (*perftest.Test, []string, int) {
	if t := find(args[0]); t != nil {
		return t, args, exitOK
	}
	if len(args) < 2 || args[1] == "-h" || args[1] == "--help" {
		fmt.Fprintf(stdout, "usage: goroce PROGRAM [ARGUMENTS], where PROGRAM is one of\n")
		for i := range tests {
			fmt.Fprintf(stdout, "  %s\n", tests[i].Name())
		}
		return nil, nil, exitOK
	}
	if t := find(args[1]); t != nil {
		return t, args[1:], exitOK
	}
	fmt.Fprintf(stderr, "goroce: %s is not one of its programs; see goroce --help\n", args[1])
	return nil, nil, exitUsage
}

// find returns the program of a name or path, nil if there is none.
func find(name string) *perftest.Test {
	for i := range tests {
		if tests[i].Name() == filepath.Base(name) {
			return &tests[i]
		}
	}
	return nil
}
