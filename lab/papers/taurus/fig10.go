package taurus

import "github.com/goroce/goroce/lab/experiment"

// fig10 is WebSearch.
var fig10 = completions("taurus/fig10", "websearch", 1500, 400, func(r *experiment.Results) {
	r.Claim("small-flows", slower(r, "small"))
	paired := 0.0
	for _, a := range algorithms {
		paired += 1e6 * (of(r, a, split).Values("packet").Mean() - of(r, a,
			native).Values("packet").Mean()) / float64(len(algorithms))
	}
	r.Claim("paired", paired)
	r.Claim("large-flows", slower(r, "large"))
})
