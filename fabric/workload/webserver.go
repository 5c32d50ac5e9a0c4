package workload

import "github.com/goroce/goroce/units"

// WebServer is the traffic of Facebook's web servers inside a cluster (Roy et al., SIGCOMM 2015).
// Quantiles of PlatformLab/HomaSimulation,
// sizeDistributions/Facebook_WebServerDist_IntraCluster.txt (441 points, Step, mean 62 874 B); the
// mean here is 0.06 % more.
var WebServer = newSizes(Linear, quantiles([...]units.Bytes{
	50, 55, 62, 65, 72, 80, 84, 95, 101, 113, 120, 136, 153, 164, 175, 187, 201, 215, 246, 263,
	281, 301, 388, 538, 639, 765, 849, 919, 959, 990, 1033, 1076, 1187, 1298, 1425, 1534, 1598,
	1664, 1733, 1806, 1889, 2083, 2169, 2259, 2449, 2551, 2766, 2881, 3088, 3270, 3464, 3669, 3887,
	4183, 4373, 4676, 5000, 5281, 5681, 6093, 6481, 7000, 7584, 8288, 9000, 9895, 11095, 12310,
	13659, 15155, 16817, 19318, 21695, 24512, 27671, 31784, 36182, 41993, 48995, 57852, 70000,
	87469, 124617, 154043, 169888, 187363, 205362, 222326, 240691, 253770, 271823, 283560, 300000,
	315200, 331170, 347950, 367019, 390285, 429368, 442606, 476295, 512548, 565213, 622075, 684658,
	729840, 778003, 818060, 882045, 904467, 951034, 951034, 975210, 975210, 975210, 1000000,
	1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000,
	1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000, 1000000,
}))

// WebServerXPass is the traffic of the web servers as used by ExpressPass, Aeolus and ToCC; mean 66
// kB. Points: kaist-ina/ns2-xpass, workloads/workload_webserver.tcl.
var WebServerXPass = newSizes(Linear, []point[units.Bytes]{
	{150, 0}, {300, 0.12}, {300, 0.2}, {600, 0.2}, {1000, 0.3}, {2000, 0.4}, {3100, 0.5},
	{6000, 0.6}, {20_000, 0.71}, {60_000, 0.8}, {150_000, 0.82}, {300_000, 0.9}, {500_000, 1},
})
