package experiment

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/goroce/goroce/lab/claims"
	"github.com/goroce/goroce/units"
)

// Results are the jobs of a whole experiment, all of which succeeded, and the claims' values that
// Judge sets.
type Results struct {
	Pool
	Scale Scale

	values map[string]claims.Value
	notes  map[string]string
}

// NewResults pools jobs, which are in the order of the cells and of the seeds.
func NewResults(s Scale, jobs []Done) *Results {
	return &Results{
		Pool:   Pool{jobs: jobs, problems: &problems{}},
		Scale:  s,
		values: map[string]claims.Value{},
		notes:  map[string]string{},
	}
}

// Claim sets the value of a claim, by its short name. v is a number or numbers (in the unit of the
// claim's metric), a bool, a text, a quantity of package units, a Keyed of these, or a
// claims.Value.
func (r *Results) Claim(short string, v any) {
	value, err := valueOf(v)
	if err != nil {
		r.problems.add("claim %s: %v", short, err)
		return
	}
	if _, twice := r.values[short]; twice {
		r.problems.add("claim %s: two values", short)
	}
	r.values[short] = value
}

// Note comments on the value of a claim, or explains why it has none. It does not change the
// verdict: the reasons of verdicts are in lab/claims/verdicts.
func (r *Results) Note(short, format string, args ...any) {
	r.notes[short] = fmt.Sprintf(format, args...)
}

// Verdicts returns the values and the notes of the claims, by their short names, and the mistakes
// of Judge and Figures so far.
func (r *Results) Verdicts() (values map[string]claims.Value, notes map[string]string, err error) {
	if len(r.problems.list) > 0 {
		err = errors.New(strings.Join(r.problems.list, "; "))
	}
	return r.values, r.notes, err
}

func valueOf(v any) (claims.Value, error) {
	switch v := v.(type) {
	case claims.Value:
		return v, nil
	case Keyed:
		return v.value()
	case float64:
		return claims.Number(v), nil
	case int:
		return claims.Number(float64(v)), nil
	case Values:
		return claims.Numbers(v...), nil
	case []float64:
		return claims.Numbers(v...), nil
	case bool:
		return claims.Bool(v), nil
	case string:
		return claims.Text(v), nil
	case units.Duration:
		return claims.Time(v), nil
	case units.Bytes:
		return claims.Size(v), nil
	case units.BitRate:
		return claims.Rate(v), nil
	}
	return claims.Value{}, fmt.Errorf("a value cannot be a %T", v)
}

// Seconds returns a number of seconds as the value of a claim about a time. Infinity and NaN
// (nothing was measured) are kept.
func Seconds(s float64) claims.Value {
	ps := s * float64(units.Second)
	switch {
	case ps >= float64(units.Forever):
		return claims.Time(units.Forever)
	case ps > -float64(units.Forever):
		return claims.Time(units.Duration(math.Round(ps)))
	}
	return claims.Number(s) // NaN
}
