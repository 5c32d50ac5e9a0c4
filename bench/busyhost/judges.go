package main

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// versus compares a trial with another one: the ratio of the medians.
type versus struct {
	test, base trial
	share      float64 // of base that is the yardstick; 0: all
	atLeast    float64 // the ratio
	// and that of any run to the median of base, or to the worst of base where that is slower
	// still; 0: any
	worst float64
}

func (v versus) judge(ctx context.Context, b *bench, r *result) error {
	runs, err := b.interleave(ctx, v.base, v.test)
	if err != nil {
		return err
	}
	r.keep(v.base, runs[0])
	r.keep(v.test, runs[1])
	r.conclude(v.compare(runs[0], runs[1]))
	return nil
}

// compare returns the figure in words, the ratio, and why the bar does not hold.
func (v versus) compare(base, test []outcome) (figure string, ratio float64, problems []string) {
	share := 1.0
	if v.share > 0 {
		share = v.share
	}
	b, t := median(values(base)), median(values(test))
	ratio = t / (b * share)
	worst, alone := least(values(test))/(b*share), least(values(base))/b
	f := v.base.figure
	figure = fmt.Sprintf("%.2f: "+f.format+" to "+f.format+" %s", ratio, t, b*share, f.unit)
	if v.worst > 0 {
		figure += fmt.Sprintf(", worst %.2f (baseline's %.2f)", worst, alone)
	}
	problems = append(unended("baseline", base), unended("test", test)...)
	if math.IsNaN(ratio) {
		return "-", ratio, problems
	}
	if ratio < v.atLeast {
		problems = append(problems, fmt.Sprintf("ratio %.2f", ratio))
	}
	// a machine on which the baseline itself is slow at times shows no more
	if worst < min(v.worst, alone) {
		problems = append(problems, fmt.Sprintf("worst run %.2f", worst))
	}
	return figure, ratio, problems
}

func (v versus) bar() string {
	text := fmt.Sprintf("≥ %g", v.atLeast)
	if v.share > 0 {
		text += " of its share"
	}
	if v.worst > 0 {
		text += fmt.Sprintf(", worst ≥ %g", v.worst)
	}
	return text
}

// limit compares the median of a trial with a constant.
type limit struct {
	test    trial
	atLeast float64 // 0: any
	atMost  float64 // 0: any
}

func (l limit) judge(ctx context.Context, b *bench, r *result) error {
	runs, err := b.interleave(ctx, l.test)
	if err != nil {
		return err
	}
	r.keep(l.test, runs[0])
	r.conclude(l.compare(runs[0]))
	return nil
}

func (l limit) compare(runs []outcome) (figure string, value float64, problems []string) {
	f := l.test.figure
	value = median(values(runs))
	problems = unended("test", runs)
	if math.IsNaN(value) {
		return "-", value, problems
	}
	figure = strings.TrimSpace(fmt.Sprintf(f.format+" %s", value, f.unit))
	if value < l.atLeast || l.atMost > 0 && value > l.atMost {
		problems = append(problems, "median "+figure)
	}
	return figure, value, problems
}

func (l limit) bar() string {
	if l.atMost > 0 {
		return fmt.Sprintf("≤ %g %s", l.atMost, l.test.figure.unit)
	}
	return strings.TrimSpace(fmt.Sprintf("≥ %g %s", l.atLeast, l.test.figure.unit))
}

// ends checks that programs end.
type ends []trial

func (e ends) judge(ctx context.Context, b *bench, r *result) error {
	var problems []string
	ended, slowest := 0, 0.0
	for _, t := range e {
		runs, err := b.interleave(ctx, t)
		if err != nil {
			return err
		}
		for i, o := range runs[0] {
			runs[0][i].Value = o.Seconds
			slowest = max(slowest, o.Seconds)
		}
		r.keep(t, runs[0])
		p := unended(t.program, runs[0])
		if len(p) == 0 {
			ended++
		}
		problems = append(problems, p...)
	}
	r.conclude(fmt.Sprintf("%d of %d programs end, slowest %.1f s", ended, len(e), slowest),
		float64(ended), problems)
	return nil
}
