package workload_test

import (
	"fmt"

	"github.com/goroce/goroce/fabric/workload"
	"github.com/goroce/goroce/units"
)

// Web search at half load with an incast in the background, over a network without queues.
func Example() {
	const hosts, rate, rtt = 16, 100 * units.Gbps, 12 * units.Microsecond
	search, err := workload.Poisson{Hosts: hosts, Rate: rate, Load: 0.5, Sizes: workload.WebSearch,
		Flows: 1000, Seed: 1}.Source()
	if err != nil {
		fmt.Println(err)
		return
	}
	incast, err := workload.Incast{Hosts: hosts, Receiver: 3,
		Sizes:  workload.Fixed[units.Bytes](50_000),
		Period: units.Millisecond, Rounds: 4}.Source()
	if err != nil {
		fmt.Println(err)
		return
	}
	traffic := workload.Merge(search, incast)
	var results []workload.Result
	for f, ok := traffic.Next(); ok; f, ok = traffic.Next() {
		ideal := workload.Ideal(f.Bytes, rtt, rate)
		results = append(results, workload.Result{Flow: f, Done: f.At.Add(ideal), Ideal: ideal})
	}
	for _, row := range workload.Summarize(results, workload.ToCCClasses()) {
		fmt.Printf("%-6s %4d flows, p50 %v\n", row.Class, row.FCT.Count, row.FCT.P50)
	}
	// Output:
	// tiny    154 flows, p50 12.38888us
	// small   466 flows, p50 15.3804us
	// medium  139 flows, p50 42.37928us
	// large   301 flows, p50 303.85536us
	// all    1060 flows, p50 17.25184us
}

// A Reactive is driven by Peek, Next and Done.
func ExampleReactive() {
	ring, err := workload.RingAllReduce{Hosts: []int{0, 1}, Bytes: 1000, Rounds: 1}.Source()
	if err != nil {
		fmt.Println(err)
		return
	}
	for now := units.Time(0); ; {
		f, ok := ring.Next()
		if !ok {
			break
		}
		fmt.Printf("%v: %d to %d, %v\n", f.At, f.Src, f.Dst, f.Bytes)
		now = now.Add(units.Microsecond)
		ring.Done(f, now)
	}
	// Output:
	// 0s: 0 to 1, 500B
	// 0s: 1 to 0, 500B
	// 1us: 1 to 0, 500B
	// 2us: 0 to 1, 500B
}
