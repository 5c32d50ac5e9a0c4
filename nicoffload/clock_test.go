package nicoffload

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClockFollows(t *testing.T) {
	var c Clock
	assert.Zero(t, c.Now(at(900_000_000)), "no reading yet")
	c.Update(at(100), at(900_000_000))
	assert.Equal(t, at(150), c.Now(at(900_000_050)))
	c.Update(at(140), at(900_000_060)) // delayed
	assert.Equal(t, at(160), c.Now(at(900_000_060)))
	c.Update(at(200), at(900_000_070))
	assert.Equal(t, at(210), c.Now(at(900_000_080)))
	c.Update(at(150_000), at(900_200_000)) // the other clock is slower
	assert.Equal(t, at(150_010), c.Now(at(900_200_010)))
	c.Update(at(10), at(900_400_000)) // the other clock stepped back
	assert.Equal(t, at(150_010), c.Now(at(900_400_000)))
}
