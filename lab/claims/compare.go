package claims

import (
	"cmp"
	"fmt"
	"math"

	"github.com/goroce/goroce/units"
)

// scalar returns a number, or a quantity in picoseconds, bytes or bits per second, and the kind of
// the quantity.
func (v Value) scalar() (x float64, kind string, ok bool) {
	switch x := v.x.(type) {
	case float64:
		return x, "number", true
	case units.Duration:
		return float64(x), "time", true
	case units.Bytes:
		return float64(x), "size", true
	case units.BitRate:
		return float64(x), "rate", true
	}
	return 0, "", false
}

// pair returns two scalars of one kind. An infinite value is of any kind.
func pair(v, w Value) (a, b float64, err error) {
	a, kindV, okV := v.scalar()
	b, kindW, okW := w.scalar()
	switch {
	case !okV:
		return 0, 0, fmt.Errorf("%v is neither a number nor a quantity", v)
	case !okW:
		return 0, 0, fmt.Errorf("%v is neither a number nor a quantity", w)
	case kindV != kindW && !math.IsInf(a, 0) && !math.IsInf(b, 0):
		return 0, 0, fmt.Errorf("%v is a %s and %v is a %s", v, kindV, w, kindW)
	}
	return a, b, nil
}

// compare returns -1, 0 or 1 if v is less than, equal to or more than w.
func compare(v, w Value) (int, error) {
	a, b, err := pair(v, w)
	return cmp.Compare(a, b), err
}

// equal reports whether v equals w: lists by position, maps by name. Values of different forms are
// an error.
func equal(v, w Value) (bool, error) {
	switch b := w.x.(type) {
	case bool, string:
		if fmt.Sprintf("%T", v.x) != fmt.Sprintf("%T", w.x) {
			return false, fmt.Errorf("%v is not of the form of %v", v, w)
		}
		return v.x == w.x, nil
	case []Value:
		a, ok := v.x.([]Value)
		if !ok {
			return false, fmt.Errorf("%v is not a list", v)
		}
		same := len(a) == len(b)
		for i := range min(len(a), len(b)) {
			one, err := equal(a[i], b[i])
			if err != nil {
				return false, err
			}
			same = same && one
		}
		return same, nil
	case []field:
		a, ok := v.x.([]field)
		if !ok {
			return false, fmt.Errorf("%v is not a map", v)
		}
		same := len(a) == len(b)
		for _, f := range b {
			x, found := v.get(f.name)
			if !found {
				same = false
				continue
			}
			one, err := equal(x, f.value)
			if err != nil {
				return false, fmt.Errorf("%s: %w", f.name, err)
			}
			same = same && one
		}
		return same, nil
	}
	order, err := compare(v, w)
	return err == nil && order == 0, err
}

// point returns the two numbers of [x, y].
func (v Value) point() (x, y float64, ok bool) {
	list, _ := v.x.([]Value)
	if len(list) != 2 {
		return 0, 0, false
	}
	x, okX := list[0].x.(float64)
	y, okY := list[1].x.(float64)
	return x, y, okX && okY
}

// series returns the elements of a list or of a map; of points, their y.
func (v Value) series() ([]Value, error) {
	var elements []Value
	switch x := v.x.(type) {
	case []Value:
		elements = x
	case []field:
		for _, f := range x {
			elements = append(elements, f.value)
		}
	default:
		return nil, fmt.Errorf("it is neither a list nor a map")
	}
	ys := make([]Value, len(elements))
	for i, e := range elements {
		ys[i] = e
		if _, y, ok := e.point(); ok {
			ys[i] = Number(y)
		}
	}
	return ys, nil
}
