package claims

import "fmt"

// Check returns what is wrong with r as a result of e: missing, unknown and duplicate claims, a
// claim that was not judged and has no note, and a pass that does not follow from its value.
// Compare checks whether the verdicts are the committed ones.
func Check(e *Experiment, r *Result) []string {
	var problems []string
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	if r.Experiment != e.ID {
		problem("the result is of %s, want %s", r.Experiment, e.ID)
	}
	seen := map[string]bool{}
	for _, v := range r.Claims {
		c := e.claimOf(v.ID)
		if c == nil {
			problem("%s: %s has no such claim", v.ID, e.ID)
			continue
		}
		if seen[v.ID] {
			problem("%s: duplicate claim", v.ID)
		}
		seen[v.ID] = true
		if v.Pass == nil {
			if v.Note == "" {
				problem("%s: not judged, and without a note", v.ID)
			}
			continue
		}
		if pass, why := c.pass(e, r.Scale, v.Value); pass == nil {
			problem("%s: pass is %v: %s", v.ID, *v.Pass, why)
		} else if *pass != *v.Pass {
			problem("%s: pass is %v, want %v: expected %v at %s scale, got %v", v.ID, *v.Pass,
				*pass, c.At(r.Scale), r.Scale, v.Value)
		}
	}
	for i := range e.Claims {
		if id := e.Claims[i].ID; !seen[id] {
			problem("%s: missing from the result", id)
		}
	}
	return problems
}

func (e *Experiment) claimOf(id string) *Claim {
	for i := range e.Claims {
		if e.Claims[i].ID == id {
			return &e.Claims[i]
		}
	}
	return nil
}
