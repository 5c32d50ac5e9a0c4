package report

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/goroce/goroce/lab/claims"
)

const (
	numberPattern = `-?\d+(?:\.\d+)?`
	unitPattern   = `(?:\s?(?:%|x|ns|us|ms|s|B|KB|MB|GB|Mb/s|Gb/s|Mbps|Gbps))?`
)

var (
	// paperNumbers matches a value of a paper that consists of numbers: 1.62, 1.52; 9 % and 15 %;
	// about 30 %; 40-210 us.
	paperNumbers = regexp.MustCompile(
		`^(?:about |around |up to |at most |over |more than |[<>]=? )?` +
			numberPattern + unitPattern +
			`(?:(?:, | and | to |-)` + numberPattern + unitPattern + `)*$`)
	paperNumber = regexp.MustCompile(`(?:^|[^\d.])(` + numberPattern + `)(` + unitPattern + `)`)
	paperRange  = regexp.MustCompile(`\d-\d| to `)
)

// paperMarks returns the paper's numbers for element i of n: those that can be read from its value
// for certain, and for which the condition holds.
func paperMarks(c *claims.Claim, v claims.Value, i, n int) []float64 {
	head, _, _ := strings.Cut(c.Paper, ";")
	head, _, _ = strings.Cut(head, "(")
	head = strings.TrimSpace(head)
	if !paperNumbers.MatchString(head) {
		return nil
	}
	isRange := paperRange.MatchString(head)
	found := paperNumber.FindAllStringSubmatch(strings.ReplaceAll(head, "-", " "), -1)
	if strings.HasPrefix(head, "-") {
		found[0][1] = "-" + found[0][1]
	}
	unit := strings.TrimSpace(found[len(found)-1][2])
	var marks []float64
	for _, m := range found {
		u := strings.TrimSpace(m[2])
		if u == "" {
			u = unit
		}
		if x, ok := inUnit(m[1], u, v); ok {
			marks = append(marks, x)
		}
	}
	switch {
	case len(marks) != len(found):
		return nil
	case len(marks) == n && !isRange:
		marks = marks[i : i+1]
	case len(marks) > 1 && !isRange:
		return nil
	}
	for _, x := range marks {
		if !plausible(c, x, v) {
			return nil
		}
	}
	return marks
}

// inUnit returns a number of the paper in the unit of v.
func inUnit(number, unit string, v claims.Value) (float64, bool) {
	_, want, ok := v.Quantity()
	x, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil {
		return 0, false
	}
	switch unit {
	case "", "x":
		return x, want == ""
	case "%":
		return x / 100, want == ""
	}
	y, got, _ := claims.Text(number + unit).Quantity()
	return y, got == want && want != ""
}

// plausible reports whether the claim holds for a number of the paper, in the unit of v.
func plausible(c *claims.Claim, x float64, v claims.Value) bool {
	e := &c.Expect
	if e.Op == "each" {
		e = e.Cond
	}
	_, unit, _ := v.Quantity()
	low, high, ok := limits(e, unit)
	return ok && x >= low && x <= high
}
