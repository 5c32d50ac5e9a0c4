package experiment

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
)

// Values are the numbers of one name, in the order in which they were recorded. Without numbers,
// Mean, Min, Max and Percentile are NaN.
type Values []float64

// Sum returns the sum.
func (v Values) Sum() float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum
}

// Mean returns the arithmetic mean.
func (v Values) Mean() float64 { return v.Sum() / float64(len(v)) }

// Min returns the smallest number.
func (v Values) Min() float64 { return v.Percentile(0) }

// Max returns the largest number.
func (v Values) Max() float64 { return v.Percentile(100) }

// Percentile returns the nearest-rank percentile: the smallest number such that at least p percent
// are not larger.
func (v Values) Percentile(p float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	// 99.9/100*1000 is a little more than 999, which must not count as another rank.
	rank := int(math.Ceil(p*float64(len(v))/100 - 1e-9))
	return slices.Sorted(slices.Values(v))[min(max(rank, 1), len(v))-1]
}

// Scaled returns the numbers multiplied by k.
func (v Values) Scaled(k float64) Values {
	out := make(Values, len(v))
	for i, x := range v {
		out[i] = k * x
	}
	return out
}

// Series are points in the order in which they were recorded.
type Series struct {
	X Values `json:"x"`
	Y Values `json:"y"`
}

// Add adds a point.
func (s *Series) Add(x, y float64) {
	s.X = append(s.X, x)
	s.Y = append(s.Y, y)
}

// Scaled returns the points in other units.
func (s Series) Scaled(kx, ky float64) Series { return Series{s.X.Scaled(kx), s.Y.Scaled(ky)} }

// MarshalJSON encodes the numbers so that each decodes unchanged; JSON has no infinities and no
// NaN, so they are strings.
func (v Values) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 8*len(v)+2), '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsInf(x, 0) || math.IsNaN(x) {
			b = strconv.AppendQuote(b, strconv.FormatFloat(x, 'g', -1, 64))
		} else {
			b = strconv.AppendFloat(b, x, 'g', -1, 64)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (v *Values) UnmarshalJSON(data []byte) error {
	var numbers []number
	if err := json.Unmarshal(data, &numbers); err != nil {
		return err
	}
	*v = make(Values, len(numbers))
	for i, n := range numbers {
		(*v)[i] = float64(n)
	}
	return nil
}

// number is an element of Values.
type number float64

func (n *number) UnmarshalJSON(data []byte) error {
	text := string(data)
	switch text {
	case `"+Inf"`, `"-Inf"`, `"NaN"`:
		text = text[1 : len(text)-1]
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return errors.New(text + " is not a number")
	}
	*n = number(x)
	return nil
}
