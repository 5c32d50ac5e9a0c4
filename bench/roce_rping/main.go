// Command roce_rping is librdmacm's rping over a DPDK port: see --help.
package main

import "github.com/goroce/goroce/bench/rping"

func main() { rping.Main() }
