package main

import (
	"slices"
	"strings"
)

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
	// clientArgs replace all arguments of the client.
	clientArgs string
	// clientProgram is the client's, if it is another one than the server's.
	clientProgram string
	// cm: the server listens by the RDMA CM, so that only a client can find out when.
	cm bool
	// endless: the server serves one client after another, and is ended.
	endless bool
	// ranks of MPI, which share a roced.
	ranks int
	// pair: the two sides have network namespaces with the port's addresses on a veth, for programs
	// that look for the addresses in the kernel, or connect there, too.
	pair bool
	// packets: the port is af_packet on that veth, otherwise a memif.
	packets bool
	// flags are of roce_run, and env variables of the programs.
	flags, env []string
	// copies: the client copies its own program to the file DIR/copy.
	copies bool
	// because explains a failure that is not ours.
	because string
	// disconnectFails: the server returns an error when its client has disconnected.
	disconnectFails bool
}

func (c *cell) name() string {
	parts := append(slices.Clone(c.env), c.program, c.args, c.clientArgs)
	parts = append(parts, c.flags...)
	if c.packets {
		parts = append(parts, "(af_packet)")
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// Patterns of output.
const (
	pingpongRow  = `(?m)iters in .* seconds = `
	bandwidthRow = `(?m)^ *\d+ +\d+ +[\d.]+ +[\d.]*[1-9][\d.]*\s`
	latencyRow   = `(?m)^ *\d+ +\d+ +[\d.]+ +[\d.]+`
	resultRow    = latencyRow
)

// The addresses of the two sides.
const serverAddress, clientAddress = "198.18.0.1", "198.18.0.2"

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
		args: "-g 0", want: pingpongRow, because: "the device has no XRC, as soft-RoCE"})
	all = append(all, perftest()...)
	all = append(all, rdmacm()...)
	all = append(all, packets()...)
	all = append(all, qperf()...)
	all = append(all, libfabric()...)
	all = append(all, ucx()...)
	return append(all, openMPI()...)
}

// rdmacm returns the cells of programs that connect by the RDMA CM.
func rdmacm() (all []cell) {
	const address = serverAddress
	for _, args := range []string{"-v -C 100", "-V -C 20 -S 4096", "-q -C 20"} {
		all = append(all, cell{suite: "rdmacm-utils", program: "rping", args: args, cm: true,
			disconnectFails: true, server: "-s -a " + address, client: "-c -a " + address})
	}
	for _, c := range []struct{ program, args string }{{"ucmatose", "-c 4 -C 20"},
		{"ucmatose", "-c 2 -C 20 -m"}, {"udaddy", "-c 4 -C 20"}} {
		all = append(all, cell{suite: "rdmacm-utils", program: c.program, args: c.args, cm: true,
			server: "-b " + address, client: "-s " + address, want: "return status 0"})
	}
	for _, c := range []struct{ program, client string }{{"rdma_server", "rdma_client"},
		{"rdma_xserver", "rdma_xclient"}} {
		all = append(all, cell{suite: "rdmacm-utils", program: c.program, cm: true,
			clientProgram: c.client, client: "-s " + address})
	}
	all = append(all, rsockets(address)...)
	for _, p := range []string{"write", "read", "send", "atomic"} {
		all = append(all, cell{suite: "perftest", program: "ib_" + p + "_bw", args: "-R -n 500",
			cm: true, client: address, want: bandwidthRow},
			cell{suite: "perftest", program: "ib_" + p + "_lat", args: "-R -n 200", cm: true,
				client: address, want: latencyRow})
	}
	return all
}

// rsockets returns the cells of programs that use librdmacm's sockets: blocking, with rpoll, and
// with data that are verified.
func rsockets(address string) (all []cell) {
	for _, p := range []string{"rstream", "riostream"} {
		for _, args := range []string{"-S 4096 -C 200", "-T b -T v -S 65536 -C 100",
			"-T a -S 65536 -C 100", "-T n -S 64 -C 1000"} {
			all = append(all, cell{suite: "rdmacm-utils", program: p, args: args, cm: true,
				client: "-s " + address, want: `(?m)^custom `})
		}
	}
	return append(all, cell{suite: "rdmacm-utils", program: "rcopy", cm: true, endless: true,
		copies: true, client: "/usr/bin/rcopy " + address + ":DIR/copy", want: "bytes in"})
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
