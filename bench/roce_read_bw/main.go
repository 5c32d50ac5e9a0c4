// Command roce_read_bw measures the bandwidth of RDMA READs over a DPDK port: see --help.
package main

import "github.com/goroce/goroce/bench/perftest"

func main() { perftest.Main(perftest.Read, perftest.Bandwidth) }
