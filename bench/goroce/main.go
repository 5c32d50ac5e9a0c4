// Command goroce is the programs roce_write_bw, roce_send_lat and so on in one binary, for images.
// It runs the one that its first argument names, or the name by which it is called:
//
//	goroce roce_write_bw -d loop: -a
//	ln -s goroce roce_write_bw && ./roce_write_bw -d loop: -a
//
// The package imports the packages of bench that are programs, and nicoffload/process.
package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/bench/channels/program"
	"github.com/goroce/goroce/bench/perftest"
	"github.com/goroce/goroce/bench/pingpong"
	"github.com/goroce/goroce/bench/rping"
	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/nicoffload/process"
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
	run, args := choose(os.Args)
	if run == nil {
		os.Exit(cli.Run(cli.Interruptible(), command(), os.Stdout, os.Stderr, os.Args[1:]...))
	}
	os.Args = args
	run()
}

// choose returns the program that a command line is for, and its own command line; nil if it names
// none.
func choose(args []string) (run func(), own []string) {
	if run := programs[filepath.Base(args[0])]; run != nil {
		return run, args
	}
	if len(args) > 1 && programs[args[1]] != nil {
		return programs[args[1]], args[1:]
	}
	return nil, nil
}

// command is the command line without a program, such as for help and completion.
func command() *cobra.Command {
	root := &cobra.Command{Use: "goroce", Short: "Run one of goroce's programs",
		Version: cli.Version(eal.Version()),
		Long: `goroce is several programs in one binary. It runs the one that its first argument
names, or the one by whose name it is called, for instance by a link.`}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		root.AddCommand(&cobra.Command{Use: name, Short: "see goroce " + name + " --help",
			DisableFlagParsing: true, Run: func(*cobra.Command, []string) { programs[name]() }})
	}
	return root
}
