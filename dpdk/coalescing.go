package dpdk

import (
	"github.com/safchain/ethtool"

	"github.com/goroce/goroce/units"
)

// rxCoalescing returns the longest time for which the kernel's driver of a network interface may
// hold an arrived frame, as `ethtool -c` shows it, and 0 when the driver does not report it.
func rxCoalescing(iface string) units.Duration {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return 0
	}
	defer e.Close()
	c, err := e.GetCoalesce(iface)
	if err != nil {
		return 0
	}
	return longestHold(c)
}

// longestCoalescing bounds what a driver reports: congestion control cannot use more.
const longestCoalescing = 10 * units.Millisecond

// longestHold returns rx-usecs, or that of high packet rates where the driver adapts it.
func longestHold(c ethtool.Coalesce) units.Duration {
	us := c.RxCoalesceUsecs
	if c.UseAdaptiveRxCoalesce != 0 {
		us = max(us, c.RxCoalesceUsecsHigh)
	}
	if c.RxMaxCoalescedFrames == 1 { // an interrupt for each frame
		us = 0
	}
	return min(units.Duration(us)*units.Microsecond, longestCoalescing)
}
