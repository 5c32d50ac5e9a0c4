package workload

import "github.com/goroce/goroce/units"

// Hadoop is the traffic of a Facebook Hadoop cluster (Roy et al., SIGCOMM 2015), as used by HPCC's
// generator; mean 120 kB. HadoopW4 differs in its small flows: results of the two are not
// comparable. Points: alibaba-edu/High-Precision-Congestion-Control,
// traffic_gen/FbHdp_distribution.txt.
var Hadoop = newSizes(Linear, []point[units.Bytes]{
	{0, 0}, {100, 0.01}, {200, 0.02}, {300, 0.05}, {350, 0.15}, {400, 0.2}, {500, 0.3}, {600, 0.4},
	{700, 0.5}, {1000, 0.6}, {2000, 0.67}, {7000, 0.7}, {30_000, 0.72}, {50_000, 0.82},
	{80_000, 0.87}, {120_000, 0.9}, {300_000, 0.95}, {1_000_000, 0.975}, {2_000_000, 0.99},
	{10_000_000, 1},
})

// HadoopW4 is the same cluster's traffic as Homa digitised it (its workload W4). Quantiles of
// PlatformLab/HomaSimulation, sizeDistributions/Facebook_HadoopDist_All.txt (461 points, Step, mean
// 127 797 B); the mean here is 0.59 % more.
var HadoopW4 = newSizes(Linear, quantiles([...]units.Bytes{
	50, 130, 227, 248, 271, 297, 303, 308, 310, 313, 315, 318, 321, 326, 331, 335, 345, 350, 360,
	371, 376, 395, 420, 435, 452, 463, 480, 491, 491, 502, 502, 513, 513, 525, 525, 537, 537, 549,
	549, 561, 561, 574, 574, 587, 600, 600, 607, 615, 630, 646, 662, 671, 685, 702, 719, 737, 762,
	787, 825, 885, 960, 1063, 1177, 1303, 1425, 1559, 1624, 1865, 2862, 4582, 6387, 10373, 31946,
	36844, 40382, 42493, 44531, 45913, 47435, 48609, 49408, 50632, 57684, 69014, 74266, 77041,
	79595, 81565, 91238, 104584, 120373, 141975, 167112, 197911, 228718, 273075, 406302, 832442,
	1660940, 1842837, 2040490, 2527289, 3430822, 3997329, 5426418, 6322443, 6322443, 7366423,
	8582787, 8582787, 10000000, 10000000, 10000000, 10000000, 10000000, 10000000, 10000000,
	10000000, 10000000, 10000000, 10000000, 10000000, 10000000, 10000000, 10000000, 10000000,
	10000000, 10000000, 10000000, 10000000, 10000000, 10000000, 10000000, 10000000, 10000000,
}))
