package carclab

import (
	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// variant is a scheme by the name that cells and figures have for it.
type variant struct {
	name string
	scheme
	ideal bool // a miss costs what a hit does: the line of theory
	// overlaps is how many lines a thread waits for at a time, 0 for one: what processors do with
	// lines in a row.
	overlaps int
}

// eRPC's rings are FIFO. CARC's credits bound the receive buffers in use when the one that was
// freed last is used next.
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

// inFIFO is the same with eRPC's rings.
func (v variant) inFIFO() variant {
	v.name += ", FIFO"
	v.order = hostmodel.FIFO
	return v
}

// four is the same where a thread waits for four lines at a time.
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
	panic("carclab: no variant " + name)
}

// serverAt is the testbed's server, at small scale with an eighth of the cache and of the rings.
func serverAt(s experiment.Scale) machine {
	mc := machine{cache: hostmodel.Xeon4309Y, link: 200 * gbps, ring: 4096}
	if s == experiment.Small {
		mc.cache.Size /= 8
		mc.ring /= 8
	}
	return mc
}

// with is the machine as a variant has it.
func (mc machine) with(v variant) machine {
	mc.hit, mc.miss = lineHit/units.Duration(max(1, v.overlaps)),
		lineMiss/units.Duration(max(1, v.overlaps))
	if v.ideal {
		mc.miss = mc.hit
	}
	return mc
}
