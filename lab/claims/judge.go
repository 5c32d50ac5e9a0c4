package claims

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Judge returns a verdict for every claim of e, in order, from the values that a run measured and
// the notes that it made, both by the claims' short names. A claim without a value, or that is not
// judged at this scale, neither passes nor fails, and its note says so; the same goes for one whose
// value does not have the form that the claim asks for. A note never changes a verdict. A name that
// e has no claim of is an error, joined with others of its kind; the verdicts are valid all the
// same.
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

// onlyFull is the note, and the reason, of a claim that small.claims does not name.
const onlyFull = "not judged at small scale"

func (c *Claim) verdict(e *Experiment, scale Scale, v Value, note string) Verdict {
	pass, why := c.pass(e, scale, v)
	if note == "" && pass == nil {
		note = why
	}
	return Verdict{ID: c.ID, Value: v, Pass: pass, Note: note}
}

// pass judges v at a scale, and says why when it cannot.
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
