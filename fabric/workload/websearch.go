package workload

import "github.com/goroce/goroce/units"

// WebSearch is the query and background traffic of a web search cluster (DCTCP, SIGCOMM 2010), as
// used by HPCC's generator; mean 1.71 MB. Points: alibaba-edu/High-Precision-Congestion-Control,
// traffic_gen/WebSearch_distribution.txt.
var WebSearch = newSizes(Linear, []point[units.Bytes]{
	{0, 0}, {10_000, 0.15}, {20_000, 0.2}, {30_000, 0.3}, {50_000, 0.4}, {80_000, 0.53},
	{200_000, 0.6}, {1_000_000, 0.7}, {2_000_000, 0.8}, {5_000_000, 0.9}, {10_000_000, 0.97},
	{30_000_000, 1},
})

// WebSearchXPass is WebSearch as used by ExpressPass, without flows below 9 kB; mean 1.71 MB.
// Points: kaist-ina/ns2-xpass, workloads/workload_search.tcl.
var WebSearchXPass = newSizes(Linear, []point[units.Bytes]{
	{9000, 0}, {9000, 0.15}, {18_582, 0.2}, {28_140, 0.3}, {38_913, 0.4}, {77_468, 0.53},
	{200_000, 0.6}, {1_000_000, 0.7}, {2_000_000, 0.8}, {5_000_000, 0.9}, {10_000_000, 0.97},
	{30_000_000, 1},
})
