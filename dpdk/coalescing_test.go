package dpdk

import (
	"testing"

	"github.com/safchain/ethtool"
	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/units"
)

func TestLongestHold(t *testing.T) {
	for name, tc := range map[string]struct {
		config ethtool.Coalesce
		want   units.Duration
	}{
		"none": {ethtool.Coalesce{}, 0},
		"rx-usecs": {ethtool.Coalesce{RxCoalesceUsecs: 50, RxMaxCoalescedFrames: 32},
			50 * units.Microsecond},
		"each frame": {ethtool.Coalesce{RxCoalesceUsecs: 50, RxMaxCoalescedFrames: 1},
			0},
		"adaptive": {ethtool.Coalesce{UseAdaptiveRxCoalesce: 1, RxCoalesceUsecs: 8,
			RxCoalesceUsecsHigh: 128}, 128 * units.Microsecond},
		"adaptive, not bounded": {ethtool.Coalesce{UseAdaptiveRxCoalesce: 1, RxCoalesceUsecs: 8},
			8 * units.Microsecond},
		"absurd": {ethtool.Coalesce{RxCoalesceUsecs: 1 << 31}, longestCoalescing},
	} {
		assert.Equal(t, tc.want, longestHold(tc.config), name)
	}
}

// TestRxCoalescingOfUnsuitableInterfaces: neither is an error, a port works without the bound.
func TestRxCoalescingOfUnsuitableInterfaces(t *testing.T) {
	assert.Zero(t, rxCoalescing("lo"))
	assert.Zero(t, rxCoalescing("none0"))
	assert.Zero(t, rxCoalescing("a name that is longer than IFNAMSIZ"))
}
