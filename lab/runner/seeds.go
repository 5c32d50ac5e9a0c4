package runner

import (
	"slices"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/lab/experiment"
)

// judgeSeeds judges the records of each seed alone, and adds the outcomes to the verdicts that have
// one. An experiment that cannot be judged by one seed has none of them.
func judgeSeeds(p *Plan, e *claims.Experiment, done []experiment.Done, verdicts []claims.Verdict) {
	if len(p.Seeds) < 2 {
		return
	}
	bySeed := make([][]claims.SeedVerdict, len(verdicts))
	for _, seed := range p.Seeds {
		r := experiment.NewResults(p.Scale, slices.DeleteFunc(slices.Clone(done),
			func(d experiment.Done) bool { return d.Seed != seed }))
		if catchPanic("Judge", func() error { p.Experiment.Judge(r); return nil }) != nil {
			return
		}
		values, _, mistakes := r.Verdicts()
		if mistakes != nil {
			return
		}
		alone, _ := claims.Judge(e, p.Scale, values, nil)
		for i, v := range alone {
			bySeed[i] = append(bySeed[i], claims.SeedVerdict{Value: v.Value, Pass: v.Pass})
		}
	}
	for i := range verdicts {
		same := !slices.ContainsFunc(bySeed[i], func(s claims.SeedVerdict) bool {
			return s.Value.String() != bySeed[i][0].Value.String()
		})
		if verdicts[i].Pass != nil && !same {
			verdicts[i].BySeed = bySeed[i]
		}
	}
}
