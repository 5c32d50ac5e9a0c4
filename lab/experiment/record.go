package experiment

import (
	"encoding/json"
	"fmt"
	"iter"
)

// Record is what one job recorded: named values and named series, in the order of their first use.
// It is written as JSON.
type Record struct {
	v []*namedValues
	s []*namedSeries
}

type namedValues struct {
	Name   string `json:"name"`
	Values Values `json:"values"`
}

type namedSeries struct {
	Name string `json:"name"`
	Series
}

// values returns the values of a name, which it adds if need be.
func (r *Record) values(name string) *Values {
	for _, n := range r.v {
		if n.Name == name {
			return &n.Values
		}
	}
	r.v = append(r.v, &namedValues{Name: name})
	return &r.v[len(r.v)-1].Values
}

// series returns the series of a name, which it adds if need be.
func (r *Record) series(name string) *Series {
	for _, n := range r.s {
		if n.Name == name {
			return &n.Series
		}
	}
	r.s = append(r.s, &namedSeries{Name: name})
	return &r.s[len(r.s)-1].Series
}

// Add appends numbers to the values of a name.
func (r *Record) Add(name string, v Values) {
	values := r.values(name)
	*values = append(*values, v...)
}

// AddSeries appends points to the series of a name.
func (r *Record) AddSeries(name string, s Series) {
	series := r.series(name)
	series.X, series.Y = append(series.X, s.X...), append(series.Y, s.Y...)
}

// Values yields all values with their names.
func (r *Record) Values() iter.Seq2[string, Values] {
	return func(yield func(string, Values) bool) {
		for _, n := range r.v {
			if !yield(n.Name, n.Values) {
				return
			}
		}
	}
}

// Series yields all series with their names.
func (r *Record) Series() iter.Seq2[string, Series] {
	return func(yield func(string, Series) bool) {
		for _, n := range r.s {
			if !yield(n.Name, n.Series) {
				return
			}
		}
	}
}

// recordJSON is the form of a Record in a file.
type recordJSON struct {
	Values []*namedValues `json:"values,omitempty"`
	Series []*namedSeries `json:"series,omitempty"`
}

// MarshalJSON writes the record.
func (r *Record) MarshalJSON() ([]byte, error) {
	return json.Marshal(recordJSON{r.v, r.s})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Record) UnmarshalJSON(data []byte) error {
	var in recordJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, n := range in.Values {
		if n == nil || names[n.Name] {
			return fmt.Errorf("experiment: record: values are null or duplicate")
		}
		names[n.Name] = true
	}
	clear(names)
	for _, n := range in.Series {
		if n == nil || names[n.Name] {
			return fmt.Errorf("experiment: record: a series is null or duplicate")
		}
		if len(n.X) != len(n.Y) {
			return fmt.Errorf("experiment: record: series %q has %d x for %d y", n.Name, len(n.X),
				len(n.Y))
		}
		names[n.Name] = true
	}
	r.v, r.s = in.Values, in.Series
	return nil
}
