// Command goroce is the programs roce_write_bw, roce_send_lat and so on in one binary, for images.
// It runs the one that its first argument names, or the name by which it is called:
//
//	goroce roce_write_bw -d loop: -a
//	ln -s goroce roce_write_bw && ./roce_write_bw -d loop: -a
//
// The package imports the packages of bench that are programs, and nicoffload/process.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/goroce/goroce/bench/channels/program"
	"github.com/goroce/goroce/bench/perftest"
	"github.com/goroce/goroce/bench/pingpong"
	"github.com/goroce/goroce/bench/rping"
	"github.com/goroce/goroce/nicoffload/process"
)

// Exit codes of the choice of a program.
const (
	exitOK    = 0
	exitUsage = 2
)

// programs are those of the binary by name.
var programs = map[string]func(){
	"roce_channels":    program.Main,
	"roce_rc_pingpong": pingpong.Main,
	"roce_rping":       rping.Main,
}

func init() {
	for _, verb := range []perftest.Verb{perftest.Write, perftest.Read, perftest.Send,
		perftest.Atomic} {
		for _, kind := range []perftest.Kind{perftest.Bandwidth, perftest.Latency} {
			name := perftest.Test{Verb: verb, Kind: kind}.Name()
			programs[name] = func() { perftest.Main(verb, kind) }
		}
	}
}

func main() {
	process.BeChild()
	run, args, code := choose(os.Args, os.Stdout, os.Stderr)
	if run == nil {
		os.Exit(code)
	}
	os.Args = args
	run()
}

// choose returns the program that a command line is for, and its own command line. Without one it
// prints why, or the list of programs, and returns the exit code.
func choose(args []string, stdout, stderr io.Writer) (run func(), own []string, code int) {
	if run := programs[filepath.Base(args[0])]; run != nil {
		return run, args, exitOK
	}
	if len(args) < 2 || args[1] == "-h" || args[1] == "--help" {
		fmt.Fprintf(stdout, "usage: goroce PROGRAM [ARGUMENTS], where PROGRAM is one of\n")
		for _, name := range slices.Sorted(maps.Keys(programs)) {
			fmt.Fprintf(stdout, "  %s\n", name)
		}
		return nil, nil, exitOK
	}
	if run := programs[args[1]]; run != nil {
		return run, args[1:], exitOK
	}
	fmt.Fprintf(stderr, "goroce: %s is not one of its programs; see goroce --help\n", args[1])
	return nil, nil, exitUsage
}
