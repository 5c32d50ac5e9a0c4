// Incast: sixteen hosts send a megabyte each to one, through a simulated switch with ECN and PFC.
// The endpoints are those that run over DPDK; time is virtual, and the seed decides everything.
package main

import (
	"fmt"
	"log"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/sim/cluster"
	"github.com/goroce/goroce/units"
)

func main() {
	const senders, receiver = 16, 16
	link := fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	var queues fabric.Queues
	queues[0] = fabric.Queue{
		Lossless: true, Alpha: 0.125,
		// 1102: our longest frame
		Headroom: fabric.Headroom(link.Rate, link.Delay, link.Delay, 1102, 480),
	}
	net := fabric.Star(fabric.Parts{
		Config: fabric.Config{Seed: 1},
		Switch: fabric.SwitchConfig{Buffer: 4 * units.MiB, Queues: queues.At()},
	}, senders+1, link)

	c, err := cluster.New(net, cluster.Config{PathMTU: 1024})
	check(err)
	traffic, err := workload.Incast{Hosts: senders + 1, Receiver: receiver,
		Sizes: workload.Fixed(units.Bytes(1_000_000)), Rounds: 1}.Source()
	check(err)
	c.Drive(traffic, func(f *cluster.Running) {
		fct := f.Done.Sub(f.At)
		fmt.Printf("host %2d: %9v, %.1f times the ideal\n", f.Src, fct,
			float64(fct)/float64(c.Ideal(f.Flow)))
	})

	port := net.Switches()[0].Ports()[receiver]
	queue := port.RecordQueue(0)
	check(net.Run(units.Time(10 * units.Millisecond)))
	fmt.Printf("longest queue %.0f KB, %d pauses sent, %d frames dropped, %d frames over links\n",
		queue.Max(0, net.Now())/1000, net.Switches()[0].Ports()[0].QueueStats(0).PausesSent,
		port.QueueStats(0).Dropped, net.Hops)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
