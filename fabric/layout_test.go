package fabric

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// TestFrameIsTwoCacheLines checks that the fields of a frame that a switch accesses are in one
// cache line.
func TestFrameIsTwoCacheLines(t *testing.T) {
	assert.EqualValues(t, 128, unsafe.Sizeof(frame{}))
	assert.EqualValues(t, 64, unsafe.Offsetof(frame{}.mem))
}
