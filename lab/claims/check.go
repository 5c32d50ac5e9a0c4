package claims

import "fmt"

// Check returns what is wrong with r as a result of e: claims that are missing, unknown or there
// twice, one that was not judged and has no note, and a pass that does not follow from its value.
// Whether the verdicts are the committed ones is for Compare to say.
func Check(e *Experiment, r *Result) []string {
	var problems []string
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	if r.Experiment != e.ID {
		problem("it is a result of %s", r.Experiment)
	}
	seen := map[string]bool{}
	for _, v := range r.Claims {
		c := e.claimOf(v.ID)
		if c == nil {
			problem("%s: %s has no such claim", v.ID, e.ID)
			continue
		}
		if seen[v.ID] {
			problem("%s: it is there twice", v.ID)
		}
		seen[v.ID] = true
		if v.Pass == nil {
			if v.Note == "" {
				problem("%s: it is not judged, and no note says why", v.ID)
			}
			continue
		}
		if pass, why := c.pass(e, r.Scale, v.Value); pass == nil {
			problem("%s: pass is %v: %s", v.ID, *v.Pass, why)
		} else if *pass != *v.Pass {
			problem("%s: pass is %v, and %v at %s scale of %v is %v", v.ID, *v.Pass, c.At(r.Scale),
				r.Scale, v.Value, *pass)
		}
	}
	for i := range e.Claims {
		if id := e.Claims[i].ID; !seen[id] {
			problem("%s: it is missing", id)
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
