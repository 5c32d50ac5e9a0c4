// Command roce_write_lat measures the latency of RDMA WRITEs over a DPDK port: see --help.
package main

import "github.com/goroce/goroce/bench/perftest"

func main() { perftest.Main(perftest.Write, perftest.Latency) }
