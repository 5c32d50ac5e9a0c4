package workload

import "github.com/goroce/goroce/units"

// Memcached is the traffic of ETC, the general-purpose pool of Facebook's memcached (Atikoglu et
// al., SIGMETRICS 2012; Homa's W1). More than 90 % of its values fit into one packet. Quantiles of
// PlatformLab/HomaSimulation, sizeDistributions/FacebookKeyValue_Sampled.txt (315 points to 100 kB,
// Step, mean 187.5 B); the mean here is 0.01 % more.
var Memcached = newSizes(Linear, quantiles([...]units.Bytes{
	1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 5, 5, 5, 7,
	10, 11, 11, 11, 11, 11, 11, 11, 11, 11, 13, 14, 14, 15, 15, 15, 19, 23, 27, 32, 37, 41, 47, 51,
	57, 63, 67, 73, 79, 84, 92, 97, 103, 113, 120, 127, 135, 143, 151, 161, 170, 181, 191, 203,
	215, 228, 242, 249, 264, 280, 297, 315, 334, 365, 387, 410, 435, 475, 503, 549, 600, 655, 715,
	804, 930, 1077, 1360, 1442, 1574, 1719, 1876, 2109, 2371, 2588, 2826, 3176, 3785, 4255, 4924,
	5376, 6043, 6406, 6994, 7861, 9098, 10227, 11837, 12922, 14106, 14955, 16326, 18351, 21239,
	23186, 26835, 29295, 31980, 34911, 37013, 41604, 48152, 52565, 100000,
}))
