package hostmodel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// TestNoQueues checks that a host without receive queues is not in S4.
func TestNoQueues(t *testing.T) {
	assert.Equal(t, S1, host(t, Xeon4309Y).State())
}

func TestWalkOfNothing(t *testing.T) {
	w := host(t, Xeon4309Y).Walk(0, true)
	assert.False(t, w.Step())
	assert.True(t, w.Step(), "at least one line")
}

// TestSlowPCIe checks that with a slow PCIe the I/O controller has few lines, not an unlimited
// number.
func TestSlowPCIe(t *testing.T) {
	h, err := New(Config{PCIe: fabric.PCIe{Rate: units.Gbps}})
	require.NoError(t, err)
	assert.Equal(t, 1, h.iio.Lines)
}
