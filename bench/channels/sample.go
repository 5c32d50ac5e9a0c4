package channels

import (
	"slices"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// sample is a delay of the fabric, with bounds because poll gaps make it uncertain.
type sample struct {
	least, most units.Duration
	here, there units.Duration // poll gaps of the two hosts
}

// sampleOf returns the sample of an event, and whether it has one.
func sampleOf(ev *cc.Event) (sample, bool) {
	least, most, ok := ev.Fabric()
	return sample{least, most, ev.LocalGap, ev.RemoteGap}, ok
}

// uncertain returns how much of the sample may be the hosts' part.
func (s sample) uncertain() units.Duration { return s.most - s.least }

// samples are the samples of one kind of packet.
type samples []sample

// each returns a property of every sample.
func (ss samples) each(of func(sample) units.Duration) []units.Duration {
	values := make([]units.Duration, len(ss))
	for i, s := range ss {
		values[i] = of(s)
	}
	return values
}

// base returns an upper bound of the delay without noise.
func (ss samples) base() units.Duration {
	if len(ss) == 0 {
		return 0
	}
	return slices.MinFunc(ss, func(a, b sample) int { return int(a.most - b.most) }).most
}

// fabric returns the delays as PrioPlus interprets them: the value nearest to the base within the
// bounds of each sample (cc.Event.FabricNear).
func (ss samples) fabric() []units.Duration {
	base := ss.base()
	return ss.each(func(s sample) units.Duration { return max(s.least, base) })
}

// Hosts describes the two hosts' effects on the samples.
type Hosts struct {
	Here, There Noise // poll gaps of this host, and of the peer if it reports them
	Uncertain   Noise // width of the bounds of each sample
	// Share is the share of all noise, from 0 to 1, that may be caused by the hosts and is not
	// attributed to the fabric.
	Share float64
	// Wide is the number of samples with an uncertainty above A+B.
	Wide int
	// Told reports whether the peer reports its gaps. Otherwise they count as the fabric's.
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

// wider counts the samples with an uncertainty above d.
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
