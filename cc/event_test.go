package cc

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

func TestEventSet(t *testing.T) {
	s := Events(ACK, RTT, TIMER)
	for k := range kinds {
		assert.Equal(t, k == ACK || k == RTT || k == TIMER, s.Has(k), k)
	}
	assert.Equal(t, "ACK|RTT|TIMER", s.String())
	assert.Empty(t, EventSet(0).String())
	assert.Equal(t, "unknown event", kinds.String())
	for k := range kinds {
		assert.NotEmpty(t, k.String())
	}
}

func TestFixed(t *testing.T) {
	f := &Fixed{Window: 3, Rate: units.Gbps}
	want := Decision{Window: 3, Rate: units.Gbps}
	assert.Zero(t, f.Events())
	assert.Equal(t, want, f.Start(1))
	assert.Equal(t, want, f.On(&Event{}, 2))
}
