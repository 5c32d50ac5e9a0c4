package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/goroce/goroce/lab/claims"
)

// labDeadline is for an experiment at small scale.
const labDeadline = 15 * time.Minute

// experiment is the id of an experiment of the lab; its claims must pass.
type experiment string

func (e experiment) judge(ctx context.Context, b *bench, r *result) error {
	dir := filepath.Join(b.temp, "lab")
	_, failure, err := execute(ctx, labDeadline, filepath.Join(b.bin, "lab"), "run", string(e),
		"--scale", "small", "--out", dir)
	switch {
	case err != nil:
		return err
	case strings.Contains(failure, "there is no experiment"):
		r.conclude("-", math.NaN(),
			[]string{fmt.Sprintf("this build's lab has no experiment %s", e)})
		return nil
	case failure != "":
		r.conclude("-", math.NaN(), []string{"lab: " + failure})
		return nil
	}
	verdicts, err := claims.ReadResult(filepath.Join(dir, filepath.FromSlash(string(e)),
		"claims.json"))
	if err != nil {
		r.conclude("-", math.NaN(), []string{err.Error()})
		return nil
	}
	r.conclude(passing(verdicts.Claims))
	return nil
}

// passing returns how many of the claims that this scale judges pass, and which do not.
func passing(all []claims.Verdict) (figure string, passed float64, problems []string) {
	judged := 0
	for _, v := range all {
		if v.Pass == nil { // not at small scale
			continue
		}
		if judged++; *v.Pass {
			passed++
			continue
		}
		problems = append(problems, fmt.Sprintf("%s fails (%v)", v.ID, v.Value))
	}
	if judged == 0 {
		problems = []string{"no claims"}
	}
	return fmt.Sprintf("%.0f of %d claims pass", passed, judged), passed, problems
}
