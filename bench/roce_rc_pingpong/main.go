// Command roce_rc_pingpong exchanges SENDs with ibv_rc_pingpong over a DPDK port: see --help.
package main

import "github.com/goroce/goroce/bench/pingpong"

func main() { pingpong.Main() }
