// Incast: sixteen hosts send a megabyte each to one, through a simulated switch with ECN and PFC.
// The endpoints are those that run over DPDK; time is virtual, and the seed decides everything.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim"
	"github.com/goroce/goroce/units"
)

func main() {
	const senders, receiver = 16, 16
	link := fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	lossless := fabric.Queue{
		Lossless: true, Alpha: 0.125,
		// 1102: our longest frame
		Headroom: fabric.Headroom(link.Rate, link.Delay, link.Delay, 1102, 480),
	}
	incast := workload.Incast{
		Hosts: senders + 1, Receiver: receiver, Sizes: workload.Fixed(units.Bytes(1_000_000)),
		Rounds: 1,
	}
	result, err := sim.Scenario{
		Topology: sim.Star(senders+1, link),
		Scheme: sim.Scheme{
			Switch: fabric.SwitchConfig{Buffer: 4 * units.MiB,
				Queues: fabric.Queues{lossless}.At()},
		},
		Workload: sim.Workload{Traffic: sim.From(incast)},
		Probes:   sim.Probes{Queues: []sim.QueueProbe{{Port: receiver}}},
		Seed:     1,
	}.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range result.Flows {
		fmt.Printf("host %2d: %9v, %.1f times the ideal\n", f.Src, f.FCT(), f.Slowdown())
	}
	queue := result.Queues[0].Length
	fmt.Printf("longest queue %.0f KB, %d pauses sent, %d frames dropped\n",
		queue.Max(0, units.Time(result.End))/1000, result.Totals.PausesSent, result.Totals.Dropped)
}
