// Newcc compares a congestion-control algorithm of its own with goroce's in a simulated network,
// and then sends real packets under it. docs/tutorial-cc.md explains every step.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"example.com/newcc/copa"
	"github.com/goroce/goroce"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/sim/figure"
	"github.com/goroce/goroce/units"
)

func main() {
	compare(os.Stdout, "newcc.svg", 4*units.Millisecond)
	transfer(os.Stdout, 2000)
}

// compare runs the same flows, which arrive for a span, under each algorithm.
func compare(w io.Writer, file string, span units.Duration) {
	link := fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	scenario := sim.Scenario{
		Topology: fabric.LeafSpine{Leaves: 2, Spines: 2, HostsPerLeaf: 4, Host: link, Up: link},
		Workload: sim.Workload{Traffic: sim.Load(workload.WebSearch, 0.5, span)},
		Hosts:    sim.Hosts{PathMTU: 4096},
		Seed:     1,
	}
	schemes, err := sim.ParseSchemes("copa", "copa:delta=0.1", "swift", "dctcp", "fixed")
	check(err)
	results, err := sim.Compare(context.Background(), scenario, schemes...)
	check(err)
	check(sim.WriteTable(w, results...))

	plot := figure.Lines("newcc", "WebSearch at half load", "size up to (B)", "p99 slowdown")
	plot.X.Log, plot.Y.Log = true, true
	for _, r := range results {
		x, y := r.BySize(99, 10_000, 100_000, 1_000_000, 10_000_000, 30_000_000)
		plot.Add(r.Scheme, x, y)
	}
	_, svg, err := plot.Encode()
	check(err)
	check(os.WriteFile(file, svg, 0o644))
}

// transfer sends messages over a loop, under copa.
func transfer(w io.Writer, messages int) {
	ctx := context.Background()
	spec, err := cc.Parse("copa")
	check(err)
	path := cc.Path{LineRate: 4e10, BaseRTT: 1e7, Payload: 1024, Signals: cc.SignalDelay}
	flow, err := spec.New(path) // of the client, which has one connection
	check(err)
	algorithm := func() cc.Algorithm { return flow }
	client, err := goroce.Open("loop:newcc", goroce.Options{NewAlgorithm: algorithm})
	check(err)
	server, err := goroce.Open("loop:newcc", goroce.Options{})
	check(err)
	defer server.Close()
	l, err := server.Listen("127.0.0.1:0")
	check(err)
	go func() {
		conn, err := client.Dial(ctx, l.Addr().String())
		check(err)
		for range messages {
			check(conn.Send(ctx, make([]byte, goroce.MaxMessage)))
		}
	}()
	conn, err := l.Accept(ctx)
	check(err)
	begin, buf := time.Now(), make([]byte, goroce.MaxMessage)
	for range messages {
		_, err = conn.Recv(ctx, buf)
		check(err)
	}
	rate := float64(messages*len(buf)*8) / time.Since(begin).Seconds() / 1e9
	check(client.Close()) // its core does not use flow any more
	fmt.Fprintf(w, "over loop: %.1f Gb/s, %d delays\n", rate, flow.(*copa.Copa).Samples)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
