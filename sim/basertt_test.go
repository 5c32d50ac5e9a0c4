package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/units"
)

func TestBaseRTTOfScenario(t *testing.T) {
	link := fabric.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	scenario := Scenario{Topology: Dumbbell(2, 2, link, link)}
	rtt, err := scenario.BaseRTT(0, 3)
	require.NoError(t, err)
	s, err := New(scenario)
	require.NoError(t, err)
	assert.Equal(t, s.BaseRTT(0, 3), rtt)
	assert.Greater(t, rtt, 6*link.Delay)
	_, err = Scenario{}.BaseRTT(0, 1)
	assert.EqualError(t, err, "sim: the scenario has no topology")
}
