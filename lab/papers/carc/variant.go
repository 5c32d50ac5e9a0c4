package carclab

import (
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// variant is a scheme with its name in cells and figures.
type variant struct {
	name string
	scheme
	ideal bool // a miss costs the same as a hit: the theoretical line
	// overlaps is the number of lines a thread waits for at a time, 0 for one: what processors do
	// with lines in a row.
	overlaps int
}

// eRPC's rings are FIFO. CARC's credits bound the receive buffers in use when the most recently
// freed buffer is used next.
var (
	plain    = variant{name: "plain"}
	hostCC   = variant{name: "hostCC", scheme: scheme{hostCC: true}}
	hostLIFO = variant{name: "hostCC, LIFO", scheme: scheme{hostCC: true, order: hostmodel.LIFO}}
	hostFour = variant{name: "hostCC, four lines at a time", scheme: scheme{hostCC: true},
		overlaps: 4}
	withoutAny = variant{name: "theory", ideal: true}
)

// carcOf is CARC with credits that responses return (rr), or the receiver (oneway).
func carcOf(mode string) variant {
	return variant{name: "CARC", scheme: scheme{carc: "mode=" + mode, order: hostmodel.LIFO}}
}

// inFIFO returns the variant with eRPC's rings.
func (v variant) inFIFO() variant {
	v.name += ", FIFO"
	v.order = hostmodel.FIFO
	return v
}

// four returns the variant in which a thread waits for four lines at a time.
func (v variant) four() variant {
	v.name += ", four lines at a time"
	v.overlaps = 4
	return v
}

func pick(variants []variant, name string) variant {
	for _, v := range variants {
		if v.name == name {
			return v
		}
	}
	panic("carclab: unknown variant " + name)
}

// serverAt returns the testbed's server, at small scale with an eighth of the cache and of the
// rings.
func serverAt(s experiment.Scale) machine {
	mc := machine{cache: hostmodel.Xeon4309Y, link: 200 * gbps, ring: 4096}
	if s == experiment.Small {
		mc.cache.Size /= 8
		mc.ring /= 8
	}
	return mc
}

// with returns the machine with a variant's settings.
func (mc machine) with(v variant) machine {
	mc.hit, mc.miss = lineHit/units.Duration(max(1, v.overlaps)),
		lineMiss/units.Duration(max(1, v.overlaps))
	if v.ideal {
		mc.miss = mc.hit
	}
	return mc
}
