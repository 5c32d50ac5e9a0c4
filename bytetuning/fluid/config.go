package fluid

import (
	"fmt"
	"math"

	"github.com/goroce/goroce/units"
)

// Flows are flows that do the same.
type Flows struct {
	N     int
	Start units.BitRate // R_C and R_T in the beginning
}

// Config is a network, its watermarks, and how it is integrated. The names of table 4 are in
// comments.
type Config struct {
	Flows  []Flows
	Packet units.Bytes   // S
	Rate   units.BitRate // C
	Buffer units.Bytes   // B, of each switch

	Kmin, Kmax units.Bytes
	Pmax       float64 // 0..1

	Kpfc  units.Bytes    // K_pfc: a longer queue pauses; 0 is without PFC
	Pause units.Duration // T_pfc
	// XON, unless 0, ends a pause when the queue of S0 is no longer than that, which real switches
	// do. A pause that is still wanted after T_pfc is renewed either way.
	XON units.Bytes
	// Uplink, unless 0, is the rate of the link from S1 to S0, which then carries what S0 gets.
	Uplink units.BitRate

	CNP         units.Duration // τ: at most one CNP in each
	AlphaTimer  units.Duration // τ'
	Delay       units.Duration // τ*: of the feedback
	Timer       units.Duration // T
	ByteCounter units.Bytes    // B of equations 11 and 12
	Recoveries  int            // F
	Gain        float64        // g
	Increase    units.BitRate  // R_AI

	Horizon units.Duration
	Step    units.Duration
	// Tail is what the means of a Result are over: the end of the run. 0 is a fifth.
	Tail units.Duration
	// AsPublished counts loss, and freezes S0, as the authors' program does.
	AsPublished bool
	// Every, unless 0, is how far apart the points of the Result's series are.
	Every units.Duration
}

// Default is table 4 with n flows that begin at start. What lasts 50 ms takes some 5 ms.
func Default(n int, start units.BitRate) Config {
	const us = units.Microsecond
	return Config{
		Flows: []Flows{{n, start}}, Packet: 1000, Rate: 40 * units.Gbps, Buffer: 1000_000,
		Kmin: 5_000, Kmax: 200_000, Pmax: 0.1, Kpfc: 300_000, Pause: PauseTime(40 * units.Gbps),
		CNP: 50 * us, AlphaTimer: 55 * us, Delay: 85 * us, Timer: 55 * us, ByteCounter: 10_000_000,
		Recoveries: 5,
		Gain:       1. / 256, Increase: 40 * units.Mbps, Horizon: 50 * units.Millisecond, Step: us,
	}
}

// PauseTime is how long the longest pause of PFC lasts: 65535 quanta of 512 bit times (802.1Qbb),
// 838.848 µs at 40 Gb/s, which table 4 has as 838.
func PauseTime(rate units.BitRate) units.Duration { return rate.Duration(65535 * 512 / 8) }

// maxSteps keeps a run within minutes and its memory within a few MB.
const maxSteps = 1 << 28

// Validate says what cannot be run.
func (c *Config) Validate() error {
	positive := func(name string, v float64) error {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("fluid: %s %v: want more than 0", name, v)
		}
		return nil
	}
	if len(c.Flows) == 0 {
		return fmt.Errorf("fluid: no flows")
	}
	for _, f := range c.Flows {
		if f.N <= 0 || f.Start < 0 || f.Start > c.Rate {
			return fmt.Errorf("fluid: %d flows that begin at %v: want one or more, at 0 to %v", f.N,
				f.Start, c.Rate)
		}
	}
	for _, p := range []struct {
		name string
		v    float64
	}{
		{"packet", float64(c.Packet)}, {"rate", float64(c.Rate)}, {"buffer", float64(c.Buffer)},
		{"CNP interval", float64(c.CNP)}, {"alpha timer", float64(c.AlphaTimer)}, {"timer",
			float64(c.Timer)},
		{"byte counter", float64(c.ByteCounter)}, {"recoveries", float64(c.Recoveries)}, {"gain",
			c.Gain},
		{"increase", float64(c.Increase)}, {"step", float64(c.Step)}, {"horizon",
			float64(c.Horizon)},
	} {
		if err := positive(p.name, p.v); err != nil {
			return err
		}
	}
	switch {
	case c.Recoveries > 1000:
		return fmt.Errorf("fluid: recoveries %d: want 1000 at most", c.Recoveries)
	case c.Gain >= 1:
		return fmt.Errorf("fluid: gain %v: want less than 1", c.Gain)
	case c.Kmin < 0 || c.Kmax <= c.Kmin:
		return fmt.Errorf("fluid: Kmin %v, Kmax %v: want 0 <= Kmin < Kmax", c.Kmin, c.Kmax)
	case !(c.Pmax > 0 && c.Pmax <= 1):
		return fmt.Errorf("fluid: Pmax %v: want more than 0, at most 1", c.Pmax)
	case c.Kpfc < 0 || c.Kpfc > 0 && c.Pause < c.Step:
		return fmt.Errorf("fluid: PFC at %v for %v: want a threshold of 0 or more, and a step "+
			"(%v) at least", c.Kpfc, c.Pause, c.Step)
	case c.XON < 0 || c.XON > c.Kpfc:
		return fmt.Errorf("fluid: XON %v: want 0 to K_pfc, %v", c.XON, c.Kpfc)
	case c.Uplink != 0 && c.Uplink <= c.Rate:
		return fmt.Errorf("fluid: uplink %v: want more than the bottleneck's %v, or 0", c.Uplink,
			c.Rate)
	case c.Delay < c.Step:
		return fmt.Errorf("fluid: feedback delay %v: want a step, %v, at least", c.Delay, c.Step)
	case c.Tail < 0 || c.Tail > c.Horizon || c.Every < 0:
		return fmt.Errorf(
			"fluid: tail %v, points every %v: want 0 to the horizon %v, and 0 or more", c.Tail,
			c.Every, c.Horizon)
	case float64(c.Horizon)/float64(c.Step) > maxSteps ||
		float64(c.Delay)/float64(c.Step) > maxSteps/64:
		return fmt.Errorf("fluid: %v in steps of %v, delay %v: too many steps", c.Horizon, c.Step,
			c.Delay)
	}
	return nil
}

// packets answers b in packets, which all of the model counts in.
func (c *Config) packets(b units.Bytes) float64 { return float64(b) / float64(c.Packet) }

// rate answers r in packets per second.
func (c *Config) rate(r units.BitRate) float64 { return float64(r) / (8 * float64(c.Packet)) }

// bits answers r packets per second as a rate.
func (c *Config) bits(r float64) units.BitRate {
	return units.BitRate(math.Round(r * 8 * float64(c.Packet)))
}
