// Command roce_read_lat measures the latency of RDMA READs over a DPDK port: see --help.
package main

import "github.com/goroce/goroce/bench/perftest"

func main() { perftest.Main(perftest.Read, perftest.Latency) }
