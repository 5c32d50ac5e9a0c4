package bytetuning

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// Watermark is the five parameters of a layer of switches (section 2.3).
type Watermark struct {
	Kmin     units.Bytes `json:"kmin"` // ECN marks nothing below
	Kmax     units.Bytes `json:"kmax"` // and all above
	Pmax     Percent     `json:"pmax"` // at Kmax
	Headroom units.Bytes `json:"headroom"`
	Alpha    Alpha       `json:"alpha"` // XOFF is so much of the free shared buffer
}

// String shows it as the paper writes watermarks: Kmin/Kmax/Pmax, headroom, α.
func (w Watermark) String() string {
	return fmt.Sprintf("%v/%v/%v headroom %v alpha %v", w.Kmin, w.Kmax, w.Pmax, w.Headroom, w.Alpha)
}

// Validate says what makes no sense on any switch.
func (w Watermark) Validate() error {
	switch {
	case w.Kmin < 0 || w.Kmax <= w.Kmin:
		return fmt.Errorf("bytetuning: Kmin %v, Kmax %v: want 0 <= Kmin < Kmax", w.Kmin, w.Kmax)
	case w.Pmax < 1 || w.Pmax > 100:
		return fmt.Errorf("bytetuning: Pmax %v: want 1%% to 100%%", w.Pmax)
	case w.Headroom < 0:
		return fmt.Errorf("bytetuning: headroom %v: want 0 or more", w.Headroom)
	}
	return w.Alpha.Validate()
}

// Percent is a probability in whole per cent, as switches take it.
type Percent int

func (p Percent) String() string { return strconv.Itoa(int(p)) + "%" }

// ParsePercent reads 20 or 20%.
func ParsePercent(s string) (Percent, error) {
	p, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "%")))
	if err != nil || p < 0 || p > 100 {
		return 0, fmt.Errorf("bytetuning: %q is not a whole number of per cent, such as 20%%", s)
	}
	return Percent(p), nil
}

// Alpha is a class of PFC's dynamic threshold by its exponent: Alpha(-3) is 1/8. Chips know powers
// of two only.
type Alpha int

// The classes that chips have (Broadcom: 1/128 to 8).
const (
	LeastAlpha Alpha = -7
	MostAlpha  Alpha = 3
)

// Float answers α.
func (a Alpha) Float() float64 { return math.Ldexp(1, int(a)) }

// String shows 1/8 or 2.
func (a Alpha) String() string {
	if a < 0 {
		return fmt.Sprintf("1/%.0f", 1/a.Float())
	}
	return fmt.Sprintf("%.0f", a.Float())
}

// Validate says when no chip has the class.
func (a Alpha) Validate() error {
	if a < LeastAlpha || a > MostAlpha {
		return fmt.Errorf("bytetuning: alpha 2^%d: want %v to %v", int(a), LeastAlpha, MostAlpha)
	}
	return nil
}

// ParseAlpha reads 1/8, 0.125 or 2.
func ParseAlpha(s string) (Alpha, error) {
	num, den, ratio := strings.Cut(strings.TrimSpace(s), "/")
	v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if ratio && err == nil {
		var d float64
		if d, err = strconv.ParseFloat(strings.TrimSpace(den), 64); err == nil {
			v /= d
		}
	}
	exponent := math.Log2(v)
	if err != nil || exponent != math.Trunc(exponent) || math.IsInf(exponent, 0) ||
		Alpha(exponent).Validate() != nil {
		return 0, fmt.Errorf(
			"bytetuning: alpha %q is not a power of two from %v to %v, such as 1/8", s, LeastAlpha,
			MostAlpha)
	}
	return Alpha(exponent), nil
}
