// Command roce_write_bw measures the bandwidth of RDMA WRITEs over a DPDK port: see --help.
package main

import "github.com/goroce/goroce/bench/perftest"

func main() { perftest.Main(perftest.Write, perftest.Bandwidth) }
