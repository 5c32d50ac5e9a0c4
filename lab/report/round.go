package report

import (
	"math"
	"regexp"
	"strconv"
)

// manyDigits matches a number with more decimals than the page shows.
var manyDigits = regexp.MustCompile(`\d+\.\d{4,}`)

// rounded returns a value's text with numbers of four digits.
func rounded(text string) string {
	return manyDigits.ReplaceAllStringFunc(text, func(number string) string {
		x, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil:
			return number
		case math.Abs(x) >= 1000:
			return strconv.FormatFloat(x, 'f', 0, 64)
		}
		return strconv.FormatFloat(x, 'g', 4, 64)
	})
}
