package claims

import "fmt"

// Compare returns where a result of e differs from the committed verdicts at its scale. A claim
// that held and fails differs, and so does one that failed and holds. At small scale it also
// returns the claims that hold with exchanged results and have no reason for it in the catalogue.
func Compare(e *Experiment, r *Result) []string {
	var problems []string
	for i := range r.Claims {
		v := &r.Claims[i]
		c := e.claimOf(v.ID)
		if c == nil {
			continue // reported by Check
		}
		if p := c.compare(r.Scale, v); p != "" {
			problems = append(problems, v.ID+": "+p)
		}
		if p := c.discriminates(r.Scale, v); p != "" {
			problems = append(problems, v.ID+": "+p)
		}
	}
	return problems
}

// compare returns how v differs from the committed verdict, or "".
func (c *Claim) compare(s Scale, v *Verdict) string {
	got, want := v.Outcome(), c.Expected(s)
	if want == nil {
		return fmt.Sprintf("%s at %s scale, and no verdict is committed", got, s)
	}
	if want.Agrees(got) {
		return ""
	}
	detail := fmt.Sprintf("expected %v, got %v", c.At(s), v.Value)
	if v.Note != "" {
		detail += ": " + v.Note
	}
	todo := ""
	if got == Holds {
		todo = "; update the verdict"
	}
	return fmt.Sprintf("%s at %s scale, but the committed verdict is %s%s: %s",
		got, s, want.Verdict, todo, detail)
}

// UpdateVerdicts sets the verdicts on the claims of e at the scale of r to what r says, and returns
// a line for each that changed. A verdict that agrees keeps its reason; a new one that does not
// hold takes the note of the run as its reason.
func UpdateVerdicts(e *Experiment, r *Result) []string {
	var changes []string
	for i := range r.Claims {
		if c := e.claimOf(r.Claims[i].ID); c != nil {
			if was := c.update(e, r.Scale, &r.Claims[i]); was != "" {
				changes = append(changes, fmt.Sprintf("%s at %s scale: %s, was %s",
					c.ID, r.Scale, r.Claims[i].Outcome(), was))
			}
		}
	}
	return changes
}

// update sets the verdict on c at a scale to v. It returns the previous verdict if it changed.
func (c *Claim) update(e *Experiment, s Scale, v *Verdict) (was Outcome) {
	entry := c.entry()
	if c.verdicts != nil {
		entry.Full, entry.Small = c.verdicts.Full, c.verdicts.Small
	}
	c.verdicts = entry
	slot := entry.at(s)
	switch {
	case *slot == nil:
		was = "none"
	case (*slot).Agrees(v.Outcome()):
		return ""
	default:
		was = (*slot).Verdict
	}
	*slot = &ExpectedVerdict{Verdict: v.Outcome()}
	switch {
	case s == SmallScale && !e.JudgedSmall(c.Short()):
		(*slot).Reason = onlyFull
	case v.Outcome() != Holds:
		(*slot).Reason = v.Note
	}
	return was
}
