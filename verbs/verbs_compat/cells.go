package main

import "strings"

// cell is one program with its arguments.
type cell struct {
	suite   string // the Debian package
	program string
	args    string // of both sides, separated by spaces
	single  bool   // one process, otherwise a server and a client
	// want is what the output of the client, or of a single process, must match.
	want string
	// server and client are arguments of one side. The client's default is localhost.
	server, client string
}

func (c *cell) name() string {
	return strings.TrimSpace(c.program + " " + c.args)
}

// Patterns of output.
const (
	pingpongRow  = `(?m)iters in .* seconds = `
	bandwidthRow = `(?m)^ *\d+ +\d+ +[\d.]+ +[\d.]*[1-9][\d.]*\s`
	latencyRow   = `(?m)^ *\d+ +\d+ +[\d.]+ +[\d.]+`
)

var cells = allCells()

func allCells() []cell {
	all := []cell{
		{suite: "ibverbs-utils", program: "ibv_devices", single: true, want: "goroce0"},
		{suite: "ibverbs-utils", program: "ibv_devinfo", args: "-v", single: true,
			want: `GID\[ +0\]:.*RoCE v2`},
	}
	for _, p := range []string{"rc", "uc", "ud", "srq"} {
		for _, args := range []string{"-g 0", "-g 0 -e", "-g 0 -c", "-g 0 -s 1024 -n 5000"} {
			all = append(all, cell{suite: "ibverbs-utils", program: "ibv_" + p + "_pingpong",
				args: args, want: pingpongRow})
		}
	}
	all = append(all, cell{suite: "ibverbs-utils", program: "ibv_rc_pingpong", args: "-g 0 -N",
		want: pingpongRow}, cell{suite: "ibverbs-utils", program: "ibv_xsrq_pingpong",
		args: "-g 0", want: pingpongRow})
	return append(all, perftest()...)
}

// perftest returns the cells of perftest's 8 programs, for each service that a program has.
func perftest() (all []cell) {
	services := map[string][]string{"write": {"RC", "UC"}, "send": {"RC", "UC", "UD"},
		"read": {"RC"}, "atomic": {"RC"}}
	for _, verb := range []string{"write", "send", "read", "atomic"} {
		for _, service := range services[verb] {
			base := "-x 0 -c " + service
			if verb == "atomic" {
				base = "-x 0"
			}
			bandwidth := []string{"-n 500", "-n 500 -b", "-n 200 -q 16", "-D 2",
				"-n 512 -l 8", "-n 500 -t 16 -Q 4"}
			latency := []string{"-n 200", "-D 2"}
			if verb != "atomic" {
				bandwidth = append(bandwidth, "-n 20 -a", "-n 1000 -s 64")
				latency = append(latency, "-n 20 -a")
			}
			if verb != "write" { // WRITE has no events: the program refuses -e
				bandwidth = append(bandwidth, "-n 500 -e")
				latency = append(latency, "-n 200 -e")
			}
			if verb == "send" || verb == "write" {
				bandwidth = append(bandwidth, "-n 500 -s 64 -I 64")
				latency = append(latency, "-n 200 -s 64 -I 64")
			}
			if verb == "send" && service == "RC" {
				bandwidth = append(bandwidth, "-n 500 --use-srq")
			}
			for _, args := range bandwidth {
				all = append(all, cell{suite: "perftest", program: "ib_" + verb + "_bw",
					args: base + " " + args, want: bandwidthRow})
			}
			for _, args := range latency {
				all = append(all, cell{suite: "perftest", program: "ib_" + verb + "_lat",
					args: base + " " + args, want: latencyRow})
			}
		}
	}
	return all
}
