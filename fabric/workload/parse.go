package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// ParseSizes reads a table of flow sizes: lines of a size and the probability of a flow that is no
// larger, none less than those of the line before, the last probability 1; or 100, when all are in
// per cent. A size may have a unit, as units.ParseBytes has them. What follows # is a comment. An
// error names the line it is about.
func ParseSizes(r io.Reader, rule Rule) (*Sizes, error) {
	points, err := parsePoints(r)
	if err != nil {
		return nil, fmt.Errorf("workload: table of sizes: %w", err)
	}
	return newSizes(rule, points), nil
}

func parsePoints(r io.Reader) ([]point[units.Bytes], error) {
	var points []point[units.Bytes]
	lines := bufio.NewScanner(r)
	number := 0
	for lines.Scan() {
		number++
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		p, err := parsePoint(fields)
		if err == nil && len(points) > 0 {
			err = p.follows(points[len(points)-1])
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		points = append(points, p)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", number+1, err)
	}
	if len(points) == 0 {
		return nil, errors.New("it is empty")
	}
	switch last := points[len(points)-1].cum; last {
	case 1:
	case 100:
		for i := range points {
			points[i].cum /= 100
		}
	default:
		return nil, fmt.Errorf("the last probability is %v, not 1 (nor 100 %%)", last)
	}
	return points, nil
}

func parsePoint(fields []string) (p point[units.Bytes], err error) {
	if len(fields) != 2 {
		return p, fmt.Errorf("%d fields, not 2: a size and a cumulative probability", len(fields))
	}
	if p.value, err = units.ParseBytes(fields[0]); err != nil {
		return p, err
	}
	p.cum, err = strconv.ParseFloat(fields[1], 64)
	if err != nil || !(p.cum >= 0 && p.cum <= 100) {
		return p, fmt.Errorf("probability %q is not a number from 0 to 1 (nor to 100 %%)",
			fields[1])
	}
	return p, nil
}

// follows says what is wrong with p as the point after q.
func (p point[T]) follows(q point[T]) error {
	switch {
	case p.value < q.value:
		return fmt.Errorf("size %v after %v: sizes do not decrease", p.value, q.value)
	case p.cum < q.cum:
		return fmt.Errorf("probability %v after %v: cumulative probabilities do not decrease",
			p.cum, q.cum)
	}
	return nil
}
