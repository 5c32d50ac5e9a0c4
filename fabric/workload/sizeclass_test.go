package workload

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

func TestSizeClasses(t *testing.T) {
	for _, c := range []struct {
		classes []SizeClass
		sizes   map[units.Bytes]string
	}{
		{ToCCClasses(), map[units.Bytes]string{1: "tiny", 9_999: "tiny", 10_000: "small",
			99_999:  "small",
			100_000: "medium", 1_000_000: "medium", 1_000_001: "large", 1 << 40: "large"}},
		{PrioPlusClasses(50_000), map[units.Bytes]string{1: "sub-RTT", 50_000: "sub-RTT",
			50_001: "small", 99_999: "small",
			100_000: "middle", 1_000_000: "middle", 1_000_001: "large"}},
		{PrioPlusClasses(152_225), map[units.Bytes]string{99_999: "sub-RTT", 152_225: "sub-RTT",
			152_226: "middle"}},
	} {
		for size, want := range c.sizes {
			assert.Equal(t, want, c.classes[ClassOf(size, c.classes)].Name, "%d B", size)
		}
	}
	assert.Equal(t, 1, ClassOf(10, []SizeClass{{"few", 10}}), "in none")
}
