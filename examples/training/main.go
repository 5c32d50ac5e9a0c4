// Training: a step of data-parallel training on a simulated cluster, from a Chakra execution trace.
// Every rank executes the same trace; collective operations are flows of transport endpoints with
// Swift on a leaf-spine of 400 Gb/s.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload/chakra"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

func main() {
	trace := flag.String("trace", "../testdata/allreduce-8.et", "Chakra execution trace of a rank")
	ranks := flag.Int("ranks", 8, "number of ranks, two to a leaf switch")
	tree := flag.Bool("tree", false, "all-reduce along a tree, in place of a ring")
	flag.Parse()
	config := chakra.Config{Tree: *tree, Chunk: units.MiB}
	if err := run(os.Stdout, *trace, *ranks, config); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, path string, ranks int, config chakra.Config) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	trace, err := chakra.Read(path, file)
	if err != nil {
		return err
	}
	traces := make([]*chakra.Trace, ranks)
	for i := range traces {
		traces[i] = trace
	}
	graph, err := chakra.Flows(traces, config)
	if err != nil {
		return err
	}
	swift, err := sim.ParseScheme("swift")
	if err != nil {
		return err
	}
	link := fabric.Link{Rate: 400 * units.Gbps, Delay: 500 * units.Nanosecond}
	result, err := sim.Scenario{
		Topology: fabric.LeafSpine{Leaves: (ranks + 1) / 2, Spines: 2, HostsPerLeaf: 2, Host: link,
			Up: link},
		Hosts:    sim.Hosts{PathMTU: 4096},
		Scheme:   swift,
		Workload: sim.Workload{Traffic: sim.From(graph)},
		Seed:     1,
	}.Run(context.Background())
	if err != nil {
		return err
	}
	last, bytes := units.Time(0), units.Bytes(0)
	for _, f := range result.Flows {
		last, bytes = max(last, f.Done), bytes+f.Bytes
	}
	fmt.Fprintf(w, "%d ranks, %d flows of %v in total: the last one ends after %v\n", ranks,
		len(result.Flows), bytes, units.Duration(last))
	return nil
}
