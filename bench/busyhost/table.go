package main

import (
	"fmt"
	"io"
)

// The command lines. Beyond size and count everything has the programs' defaults.
const (
	// a second or less: what a thread or two CPUs' places do in 10 ms is not measured
	large = "roce_send_bw -s 64K -n 20000"
	// some 20 periods of a quota; 2000 messages may fit into one
	lasting = "roce_send_bw -s 64K -D 2"
	small   = "roce_send_bw -s 32 -D 1"
	smallPP = "-s 8 -n 10000"
	fixed   = "--cc fixed"
)

// controls are the controls that are compared with --cc fixed.
var controls = []struct {
	name, flags string
	quiet       float64 // bar of the quiet machine
}{
	{"swift", "--cc swift", 0.9},
	{"ledbat-dc", "--cc ledbat-dc", 0.9},
	{"dcqcn", "--cc dcqcn", 0.9},
	{"timely", "--cc timely", 0.6},
	{"swift-prio", "--cc swift --prio 3", 0.9},
	{"tocc", "--tocc tocc", 0.9},
	{"offload", "--offload soft --cc swift", 0.9},
}

// programs are those that must end with half a CPU.
var programs = []string{
	"roce_write_bw", "roce_read_bw", "roce_send_bw", "roce_atomic_bw",
	"roce_write_lat", "roce_read_lat", "roce_send_lat", "roce_atomic_lat",
}

// table returns all cells.
func table() (cells []cell) {
	compare := func(name string, v versus) {
		cpus := 2
		if v.base.place == oneCPU && v.test.place == oneCPU {
			cpus = 1
		}
		cells = append(cells, cell{name: name, bar: v.bar(), cpus: cpus,
			quota: v.test.place == halfCPU, judge: v})
	}
	for _, c := range controls {
		compare("quiet/"+c.name, control(quiet, c.flags, c.quiet, 0))
	}
	for _, c := range controls {
		compare("busy/"+c.name, control(busy, c.flags, 0.7, 0.5))
	}
	for _, c := range controls {
		compare("one-cpu/"+c.name, control(oneCPU, c.flags, 0.7, 0.5))
	}
	elsewhere := func(p place, f figure, line string) versus {
		return versus{test: on(p, f, line).with(fixed), base: on(quiet, f, line).with(fixed),
			atLeast: 0.25}
	}
	compare("busy/fixed-32", elsewhere(busy, messages, small))
	compare("busy/fixed-64K", elsewhere(busy, goodput, large))
	compare("one-cpu/fixed-64K", elsewhere(oneCPU, goodput, large))
	for _, verb := range []string{"send", "write"} {
		l := limit{test: on(oneCPU, latency, "roce_"+verb+"_lat "+smallPP), atMost: 15}
		cells = append(cells,
			cell{name: "one-cpu/" + verb + "-lat", bar: l.bar() + ", half the round trip", cpus: 1,
				judge: l})
	}
	var all ends
	for _, p := range programs {
		all = append(all, on(halfCPU, ended, p))
	}
	cells = append(cells, cell{name: "half-cpu/ends", bar: "every program ends", cpus: 1,
		quota: true, anyLoad: true, judge: all})
	share := elsewhere(halfCPU, goodput, lasting)
	share.atLeast, share.share = 0.3, 0.25 // half a CPU of two
	compare("half-cpu/fixed-64K", share)
	priorities := limit{test: on(busy, firstShare,
		"roce_write_bw -s 64K -D 2 --cc swift --prio 7,0 -q 2"), atLeast: 0.9}
	cells = append(cells,
		cell{name: "busy/priorities", bar: priorities.bar() + " of the bytes", cpus: 2,
			judge: priorities},
		cell{name: "fabric/preemption", bar: "every claim passes", cpus: 1, anyLoad: true,
			judge: experiment("host/preemption")})
	compare("cost/send-32", versus{test: on(quiet, messages, small).with("--cc swift"),
		base: on(quiet, messages, small).with(fixed), atLeast: 0.95})
	return append(cells, cell{name: "cost/ack", bar: fmt.Sprintf("≤ %g ns more an event", ackBar),
		cpus: 1, judge: ackCost{}})
}

// control compares a congestion control with the fixed window in the same place.
func control(p place, flags string, atLeast, worst float64) versus {
	t := on(p, goodput, large)
	return versus{test: t.with(flags), base: t.with(fixed), atLeast: atLeast, worst: worst}
}

// list prints the cells.
func list(out io.Writer, cells []cell) {
	for _, c := range cells {
		fmt.Fprintf(out, "%-*s %s\n", nameWidth, c.name, c.bar)
	}
}
