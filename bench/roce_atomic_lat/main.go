// Command roce_atomic_lat measures the latency of RDMA atomics over a DPDK port: see --help.
package main

import "github.com/goroce/goroce/bench/perftest"

func main() { perftest.Main(perftest.Atomic, perftest.Latency) }
