package tocc

import "slices"

// Experiments are those of this package.
var Experiments = slices.Concat(microExperiments, leafSpine, tokenSchemes, testbedExperiments)
