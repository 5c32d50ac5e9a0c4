package hostmodel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

// A host without receive queues has none that is exhausted.
func TestNoQueues(t *testing.T) {
	assert.Equal(t, S1, host(t, Xeon4309Y).State())
}

func TestWalkOfNothing(t *testing.T) {
	w := host(t, Xeon4309Y).Walk(0, true)
	assert.False(t, w.Step())
	assert.True(t, w.Step(), "it is a line")
}

// A slow PCIe has an I/O controller of few lines, not one without a limit.
func TestSlowPCIe(t *testing.T) {
	h, err := New(Config{PCIe: fabric.PCIe{Rate: units.Gbps}})
	require.NoError(t, err)
	assert.Equal(t, 1, h.iio.Lines)
}
