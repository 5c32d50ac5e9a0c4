package workload

import "github.com/goroce/goroce/units"

// FacebookCoflows is the bytes of whole coflows in Facebook's trace of 2010, in eight classes of
// size, the smallest first. Points, in 0.5 MB and percent: blueroaring/PrioPlus, the artifact of
// EuroSys 2025, which offers the same load of each class and gives smaller classes higher
// priorities.
var FacebookCoflows = [8]*Sizes{
	coflowBytes([]point[units.Bytes]{
		{0, 0}, {1, 100},
	}),
	coflowBytes([]point[units.Bytes]{
		{1, 0}, {2, 100},
	}),
	coflowBytes([]point[units.Bytes]{
		{2, 0}, {4, 32.04}, {6, 54.76}, {8, 71.73}, {10, 81.15}, {12, 100},
	}),
	coflowBytes([]point[units.Bytes]{
		{12, 0}, {14, 71.15}, {16, 75}, {20, 100},
	}),
	coflowBytes([]point[units.Bytes]{
		{20, 0}, {22, 3.84}, {24, 13.55}, {26, 46.21}, {28, 73.1}, {30, 86.55}, {36, 88.47},
		{40, 90.39}, {46, 92.32}, {48, 94.24}, {50, 100},
	}),
	coflowBytes([]point[units.Bytes]{
		{50, 0}, {52, 3.92}, {54, 33.3}, {56, 48.97}, {58, 54.85}, {60, 66.6}, {64, 68.56},
		{66, 70.52}, {76, 76.39}, {78, 78.35}, {80, 82.37}, {82, 86.29}, {84, 100},
	}),
	coflowBytes([]point[units.Bytes]{
		{84, 0}, {86, 1.89}, {88, 13.21}, {92, 15.09}, {94, 16.98}, {96, 24.53}, {98, 26.42},
		{100, 33.96}, {102, 35.85}, {104, 37.74}, {112, 39.62}, {118, 47.17}, {122, 49.06},
		{124, 52.83}, {128, 54.72}, {130, 56.6}, {136, 58.49}, {138, 62.26}, {144, 64.15},
		{146, 66.04}, {154, 67.92}, {158, 69.81}, {164, 71.7}, {176, 75.47}, {180, 77.36},
		{184, 79.25}, {188, 81.13}, {190, 83.02}, {204, 84.91}, {208, 86.79}, {220, 92.45},
		{232, 94.34}, {256, 96.23}, {272, 98.11}, {274, 100},
	}),
	coflowBytes([]point[units.Bytes]{
		{274, 0}, {282, 1.92}, {292, 3.84}, {298, 5.76}, {304, 7.68}, {318, 9.61},
		{320, 11.53}, {330, 13.45}, {340, 15.37}, {352, 17.29}, {360, 26.9}, {368, 28.82},
		{372, 30.74}, {378, 34.58}, {384, 36.5}, {390, 38.42}, {400, 40.34}, {408, 42.26},
		{416, 44.19}, {444, 46.11}, {472, 48.03}, {492, 50.05}, {552, 51.97}, {580, 53.89},
		{588, 57.74}, {600, 63.5}, {616, 65.42}, {700, 67.34}, {720, 69.26}, {748, 71.18},
		{750, 73.1}, {846, 75.03}, {870, 76.95}, {896, 78.87}, {940, 80.79}, {1166, 82.71},
		{1276, 84.63}, {1296, 86.55}, {1348, 88.47}, {1560, 90.39}, {1624, 92.32},
		{1664, 96.16}, {1674, 98.08}, {2320, 100},
	}),
}

// coflowBytes returns a Linear table of points in 0.5 MB and percent.
func coflowBytes(points []point[units.Bytes]) *Sizes {
	for i := range points {
		points[i].value *= 500_000
		points[i].cum /= 100
	}
	return newSizes(Linear, points)
}
