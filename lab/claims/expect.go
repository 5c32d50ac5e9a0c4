package claims

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Expect is the condition that a metric has to meet. Op selects the condition and the other fields
// that matter:
//
//	>= <= > < ==  Value               the metric compared with it
//	between       Low, High           both included
//	order         Of, Slack           a map m: m[a] <= m[b]*(1+Slack) for neighbours a, b in Of
//	monotone      Dir, Slack          a series goes up or down; a step the other way is at most
//	                                  Slack of the range
//	each          Cond                every element of a map or series meets Cond
//	linear        R2, Slope           least squares of a series of points: at least R2, and a
//	                                  slope within Slope
//	equals        Value               exactly that number, text, bool, list or map
//
// A bound with a unit takes a metric with a unit of its kind; a bound without one takes a number in
// the metric's own unit. A series is a list, or a map in its order; of points, their y.
type Expect struct {
	Op    string     `yaml:"op"`
	Value Value      `yaml:"value"`
	Low   Value      `yaml:"low"`
	High  Value      `yaml:"high"`
	Of    []string   `yaml:"of"`
	Slack float64    `yaml:"slack"`
	Dir   string     `yaml:"dir"`
	Cond  *Expect    `yaml:"cond"`
	R2    float64    `yaml:"r2"`
	Slope [2]float64 `yaml:"slope"`
	Why   string     `yaml:"why"` // the reason for its width
}

// Judge reports whether v meets the condition. It returns an error if v does not have the form that
// Op takes.
func (e *Expect) Judge(v Value) (bool, error) {
	if v.IsNull() {
		return false, fmt.Errorf("claims: %v of null: there is no value", e)
	}
	pass, err := e.judge(v)
	if err != nil {
		return false, fmt.Errorf("claims: %v of %v: %w", e, v, err)
	}
	return pass, nil
}

func (e *Expect) judge(v Value) (bool, error) {
	switch e.Op {
	case ">=", "<=", ">", "<", "==":
		order, err := compare(v, e.Value)
		return err == nil && holds(order, e.Op), err
	case "between":
		low, err := compare(v, e.Low)
		if err != nil {
			return false, err
		}
		high, err := compare(v, e.High)
		return low >= 0 && high <= 0, err
	case "order":
		return e.ordered(v)
	case "monotone":
		return e.monotone(v)
	case "each":
		return e.each(v)
	case "linear":
		return e.linear(v)
	case "equals":
		return equal(v, e.Value)
	}
	return false, fmt.Errorf("unknown operator")
}

func holds(order int, op string) bool {
	switch op {
	case ">=":
		return order >= 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case "<":
		return order < 0
	}
	return order == 0
}

func (e *Expect) ordered(v Value) (bool, error) {
	pass := true
	for i, name := range e.Of {
		x, ok := v.get(name)
		if !ok {
			return false, fmt.Errorf("it is not a map with %q", name)
		}
		if i == 0 {
			continue
		}
		before, _ := v.get(e.Of[i-1])
		a, b, err := pair(before, x)
		if err != nil {
			return false, err
		}
		pass = pass && a <= b*(1+e.Slack)
	}
	return pass, nil
}

func (e *Expect) monotone(v Value) (bool, error) {
	series, err := v.series()
	if err != nil {
		return false, err
	}
	if len(series) < 2 {
		return false, fmt.Errorf("a direction takes at least two elements, got %d", len(series))
	}
	ys := make([]float64, len(series))
	for i, x := range series {
		if _, ys[i], err = pair(series[0], x); err != nil {
			return false, err
		}
		if e.Slack > 0 && math.IsInf(ys[i], 0) {
			return false, fmt.Errorf("a slack takes a finite range, got an infinite element")
		}
		if e.Dir == "down" {
			ys[i] = -ys[i]
		}
	}
	back := 0.0 // the largest step in the wrong direction
	if e.Slack > 0 {
		least, most := extremes(ys)
		back = e.Slack * (most - least)
	}
	for i := range ys[1:] {
		if ys[i+1] < ys[i]-back {
			return false, nil
		}
	}
	return true, nil
}

func extremes(xs []float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, x := range xs {
		least, most = min(least, x), max(most, x)
	}
	return least, most
}

func (e *Expect) each(v Value) (bool, error) {
	series, err := v.series()
	if err != nil {
		return false, err
	}
	if len(series) == 0 {
		return false, fmt.Errorf("want at least one element, got none")
	}
	all := true
	for _, x := range series {
		pass, err := e.Cond.judge(x)
		if err != nil {
			return false, fmt.Errorf("its %v: %w", x, err)
		}
		all = all && pass
	}
	return all, nil
}

func (e *Expect) linear(v Value) (bool, error) {
	list, ok := v.x.([]Value)
	if !ok || len(list) < 3 {
		return false, fmt.Errorf("want a list of at least three points [x, y]")
	}
	xs, ys := make([]float64, len(list)), make([]float64, len(list))
	for i, p := range list {
		if xs[i], ys[i], ok = p.point(); !ok || math.IsInf(xs[i], 0) || math.IsInf(ys[i], 0) {
			return false, fmt.Errorf("%v is not a point [x, y] of two numbers", p)
		}
	}
	offset, slope := stat.LinearRegression(xs, ys, nil, false)
	r2 := stat.RSquared(xs, ys, nil, offset, slope)
	if math.IsNaN(r2) || math.IsInf(r2, 0) {
		return false, fmt.Errorf("a line takes a series that changes: the values are constant")
	}
	return r2 >= e.R2 && slope >= e.Slope[0] && slope <= e.Slope[1], nil
}

// String returns the condition as text: >= 0.95, between 70us and 100us, each <= 2ms.
func (e *Expect) String() string {
	switch e.Op {
	case "between":
		return fmt.Sprintf("between %v and %v", e.Low, e.High)
	case "order":
		return "order " + strings.Join(e.Of, " <= ") + e.slackText()
	case "monotone":
		return "monotone " + e.Dir + e.slackText()
	case "each":
		return fmt.Sprint("each ", e.Cond)
	case "linear":
		return fmt.Sprintf("linear with r2 >= %v and slope in [%v, %v]", e.R2, e.Slope[0],
			e.Slope[1])
	}
	return e.Op + " " + e.Value.String()
}

func (e *Expect) slackText() string {
	if e.Slack == 0 {
		return ""
	}
	return fmt.Sprintf(", slack %v", e.Slack)
}

// validate returns what is wrong with the condition itself.
func (e *Expect) validate() error {
	switch e.Op {
	case ">=", "<=", ">", "<", "==":
		_, err := compare(e.Value, e.Value)
		return err
	case "between":
		order, err := compare(e.Low, e.High)
		if err == nil && order > 0 {
			err = fmt.Errorf("low %v is above high %v", e.Low, e.High)
		}
		return err
	case "order":
		if len(e.Of) < 2 {
			return fmt.Errorf("order takes at least two names")
		}
		return e.validSlack()
	case "monotone":
		if e.Dir != "up" && e.Dir != "down" {
			return fmt.Errorf("monotone takes dir up or down, got %q", e.Dir)
		}
		return e.validSlack()
	case "each":
		if e.Cond == nil {
			return fmt.Errorf("each takes a cond")
		}
		if err := e.Cond.validate(); err != nil {
			return fmt.Errorf("cond: %w", err)
		}
		return nil
	case "linear":
		if !(e.R2 > 0 && e.R2 <= 1 && e.Slope[0] <= e.Slope[1]) {
			return fmt.Errorf("linear takes r2 in (0, 1] and slope [low, high]")
		}
		return nil
	case "equals":
		if e.Value.IsNull() {
			return fmt.Errorf("equals takes a value")
		}
		return nil
	}
	return fmt.Errorf("unknown op %q", e.Op)
}

func (e *Expect) validSlack() error {
	if !(e.Slack >= 0 && e.Slack < math.Inf(1)) {
		return fmt.Errorf("slack %v: want a finite fraction", e.Slack)
	}
	return nil
}
