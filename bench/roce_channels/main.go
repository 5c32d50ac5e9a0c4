// Command roce_channels measures the parameters of PrioPlus for a path: see --help.
package main

import "github.com/goroce/goroce/bench/channels/program"

func main() { program.Main() }
