package channels

import (
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// sample is a delay of the fabric, which poll gaps leave uncertain.
type sample struct {
	least, most units.Duration
	here, there units.Duration // poll gaps of the two hosts
}

// sampleOf returns the sample of an event, and false when it has none.
func sampleOf(ev *cc.Event) (sample, bool) {
	least, most, ok := ev.Fabric()
	return sample{least, most, ev.LocalGap, ev.RemoteGap}, ok
}

// uncertain is how much of the sample may have passed in a host.
func (s sample) uncertain() units.Duration { return s.most - s.least }

// samples are those of one kind of packet.
type samples []sample

// each returns a length of time of every sample.
func (ss samples) each(of func(sample) units.Duration) []units.Duration {
	values := make([]units.Duration, len(ss))
	for i, s := range ss {
		values[i] = of(s)
	}
	return values
}

// base is the delay without noise, at most.
func (ss samples) base() units.Duration {
	if len(ss) == 0 {
		return 0
	}
	return slices.MinFunc(ss, func(a, b sample) int { return int(a.most - b.most) }).most
}

// fabric returns the delays that PrioPlus goes by: within the bounds of each, the nearest to the
// base (cc.Event.FabricNear).
func (ss samples) fabric() []units.Duration {
	base := ss.base()
	return ss.each(func(s sample) units.Duration { return max(s.least, base) })
}

// Hosts is what the two hosts do to the samples.
type Hosts struct {
	Here, There Noise // poll gaps of this host, and of the peer as far as it reports them
	Uncertain   Noise // the width of the bounds of each sample
	// Share is how much of all noise, from 0 to 1, may be the hosts' and is not counted as the
	// fabric's.
	Share float64
	// Wide is how many samples are uncertain by more than A+B.
	Wide int
	// Told says that the peer reports its part. What it does not report counts as the fabric's.
	Told bool
}

func hostsOf(told bool, kinds ...samples) Hosts {
	all, noise, fabric := samples(slices.Concat(kinds...)), 0.0, 0.0
	for _, ss := range kinds {
		base := ss.base()
		for _, s := range ss {
			noise += float64(s.most - base)
			fabric += float64(max(s.least, base) - base)
		}
	}
	h := Hosts{
		Here:      distribution(all.each(func(s sample) units.Duration { return s.here })),
		There:     distribution(all.each(func(s sample) units.Duration { return s.there })),
		Uncertain: distribution(all.each(sample.uncertain)),
		Told:      told,
	}
	if noise > 0 {
		h.Share = 1 - fabric/noise
	}
	return h
}

// wider counts the samples that are uncertain by more than d.
func wider(d units.Duration, kinds ...samples) (n int) {
	for _, ss := range kinds {
		for _, s := range ss {
			if s.uncertain() > d {
				n++
			}
		}
	}
	return n
}
