package tocc

import "slices"

// Experiments are the experiments of this package.
var Experiments = slices.Concat(microExperiments, leafSpine, tokenSchemes, testbedExperiments)
