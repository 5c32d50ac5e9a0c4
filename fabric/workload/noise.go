package workload

import "github.com/goroce/goroce/units"

// DelayNoise is the error of measured delays: the noise of hardware timestamps on the testbed of
// PrioPlus (EuroSys 2025, figure 7); mean 194 ns. Quantiles of blueroaring/PrioPlus,
// experiments/delay-error.txt (111 points, Linear).
var DelayNoise = newNanoseconds(quantiles([...]units.Duration{
	0, 4, 9, 12, 13, 16, 18, 21, 25, 33, 36, 39, 44, 49, 54, 56, 60, 69, 73, 77, 82, 88, 94, 99,
	104, 108, 111, 115, 117, 120, 124, 131, 135, 137, 139, 141, 143, 148, 152, 153, 156, 161, 162,
	166, 166, 169, 170, 172, 175, 178, 182, 184, 188, 192, 194, 195, 197, 201, 204, 205, 207, 211,
	213, 216, 218, 220, 222, 228, 230, 232, 237, 240, 244, 250, 254, 259, 266, 269, 276, 282, 286,
	293, 300, 305, 307, 312, 320, 326, 332, 340, 353, 371, 380, 396, 408, 442, 455, 467, 485, 496,
	506, 516, 527, 541, 598, 663, 728, 766, 804, 822, 840, 847, 854, 858, 862, 865, 869, 871, 872,
	873, 874, 874, 874, 875, 875, 875, 876, 876, 876, 876, 876, 876, 876, 876, 876,
}))

func newNanoseconds(points []point[units.Duration]) *Delays {
	for i := range points {
		points[i].value *= units.Nanosecond
	}
	return newDistribution(Linear, 0, points)
}
