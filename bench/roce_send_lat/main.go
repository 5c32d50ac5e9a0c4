// Command roce_send_lat measures the latency of SENDs over a DPDK port: see --help.
package main

import "github.com/goroce/goroce/bench/perftest"

func main() { perftest.Main(perftest.Send, perftest.Latency) }
