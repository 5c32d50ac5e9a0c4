package claims

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Judge returns a verdict for every claim of e, in order, from the values that a run measured and
// its notes, both by the claims' short names. A claim neither passes nor fails if it has no value,
// if its value does not have the form that the condition takes, or if it is not judged at this
// scale; the verdict's note gives the reason. A note never changes a verdict. A name that is not a
// claim of e is an error, joined with others of its kind; the verdicts are valid nevertheless.
func Judge(e *Experiment, scale Scale, values map[string]Value, notes map[string]string) ([]Verdict,
	error) {
	verdicts := make([]Verdict, len(e.Claims))
	for i := range e.Claims {
		c := &e.Claims[i]
		verdicts[i] = c.verdict(e, scale, values[c.Short()], notes[c.Short()])
	}
	var unknown []error
	for _, names := range [][]string{slices.Sorted(maps.Keys(values)),
		slices.Sorted(maps.Keys(notes))} {
		for _, short := range names {
			if e.Claim(short) == nil {
				unknown = append(unknown, fmt.Errorf("claims: %s has no claim %q", e.ID, short))
			}
		}
	}
	return verdicts, errors.Join(unknown...)
}

// onlyFull is the note, and the reason, of a claim that small.claims does not list.
const onlyFull = "not judged at small scale"

func (c *Claim) verdict(e *Experiment, scale Scale, v Value, note string) Verdict {
	pass, why := c.pass(e, scale, v)
	if note == "" && pass == nil {
		note = why
	}
	return Verdict{ID: c.ID, Value: v, Pass: pass, Note: note}
}

// pass judges v at a scale, or returns the reason why it cannot.
func (c *Claim) pass(e *Experiment, scale Scale, v Value) (*bool, string) {
	if scale == SmallScale && !e.JudgedSmall(c.Short()) {
		return nil, onlyFull
	}
	if v.IsNull() {
		return nil, "not measured"
	}
	expect := c.At(scale)
	pass, err := expect.Judge(v)
	if err != nil {
		return nil, "not judged: " + err.Error()
	}
	return &pass, ""
}
