package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// logTicks are the marks of a logarithmic axis: powers of ten with labels, and 2 and 5 times them
// if there are few. Those outside the axis are left out: gonum's logarithmic marks are not, and
// logScale would move them to its end.
type logTicks struct{}

// Ticks returns the marks between two limits.
func (logTicks) Ticks(low, high float64) []plot.Tick {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	decades := math.Log10(high / low)
	each := max(1, (last-first+7)/8) // decades from one label to the next
	var ticks []plot.Tick
	for power := first; power <= last; power++ {
		if each > 1 && power%each != 0 {
			continue
		}
		for m := 1; m <= 9 && (m == 1 || each == 1); m++ {
			x := float64(m) * math.Pow10(power)
			if x < low*(1-1e-9) || x > high*(1+1e-9) {
				continue
			}
			tick := plot.Tick{Value: x}
			if m == 1 || m == 2 && decades < 2.5 || m == 5 && decades < 2.5 || decades < 0.5 {
				tick.Label = tickLabel(x, power)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// tickLabel returns a number of the order of a power of ten as text.
func tickLabel(x float64, power int) string {
	if power >= -4 && power < 6 {
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	superscript := strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
		"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹", "-", "⁻")
	label := "10" + superscript.Replace(strconv.Itoa(power))
	if m := math.Round(x / math.Pow10(power)); m > 1 {
		return strconv.Itoa(int(m)) + "·" + label
	}
	return label
}
