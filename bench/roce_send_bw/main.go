// Command roce_send_bw measures the bandwidth of SENDs over a DPDK port: see --help.
package main

import "github.com/goroce/goroce/bench/perftest"

func main() { perftest.Main(perftest.Send, perftest.Bandwidth) }
