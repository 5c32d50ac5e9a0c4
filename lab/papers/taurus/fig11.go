package taurus

import "github.com/goroce/goroce/lab/experiment"

// fig11 is Hadoop.
var fig11 = completions("taurus/fig11", "hadoop", 10_000, 1500, func(r *experiment.Results) {
	r.Claim("small-flows", slower(r, "small"))
	r.Claim("large-flows", slower(r, "large"))
})
