package workload

import "github.com/goroce/goroce/units"

// DataMining is the traffic of a data mining cluster (VL2, SIGCOMM 2009) as used by ExpressPass;
// mean 7.5 MB. Points: kaist-ina/ns2-xpass, workloads/workload_mining.tcl.
var DataMining = newSizes(Linear, []point[units.Bytes]{
	{100, 0}, {10_000, 0.8}, {152_522, 0.8346}, {390_541, 0.9}, {3_223_542, 0.953846},
	{100_000_000, 0.99}, {1_000_000_000, 1},
})
