package workload

import "github.com/goroce/goroce/units"

// AliStorage is block storage in production at Alibaba, 2019; mean 41 kB. Points:
// alibaba-edu/High-Precision-Congestion-Control, traffic_gen/AliStorage2019.txt.
var AliStorage = newSizes(Linear, []point[units.Bytes]{
	{0, 0}, {4000, 0.2293}, {8000, 0.6921}, {16_000, 0.8061}, {32_000, 0.9047}, {64_000, 0.9353},
	{128_000, 0.9677}, {256_000, 0.9753}, {2_000_000, 1},
})
