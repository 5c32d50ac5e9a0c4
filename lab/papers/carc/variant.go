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
	ideal  bool // a miss costs the same as a hit: the theoretical line
	serial bool // a thread waits for one line at a time, and memory is constant
	// constant is memory whose latency does not grow with the load.
	constant bool
	others   bool // one way of the cache holds other lines than buffers
}

// eRPC's rings are FIFO. CARC's credits bound the receive buffers in use when the most recently
// freed buffer is used next.
var (
	plain      = variant{name: "plain"}
	hostCC     = variant{name: "hostCC", scheme: scheme{hostCC: true}}
	hostLIFO   = variant{name: "hostCC, LIFO", scheme: scheme{hostCC: true, order: hostmodel.LIFO}}
	withoutAny = variant{name: "theory", ideal: true}
	// Thresholds of hostCC's module, as it is and for twice the rate.
	host70  = variant{name: "hostCC, I_T = 70", scheme: scheme{hostCC: true, threshold: 70}}
	host140 = variant{name: "hostCC, I_T = 140", scheme: scheme{hostCC: true, threshold: 140}}
)

// hostThreshold returns hostCC's I_T for a link. The module's, 70, is 70/65 of what the I/O
// controller of its authors' host holds at the full rate of the link while memory is idle.
func hostThreshold(link units.BitRate) int {
	const lineTime = 333 * units.Nanosecond // of a line in the I/O controller: hostmodel's
	payload := float64(link.Bytes(lineTime)) * float64(longPacket) / float64(longPacket+overhead)
	return int(payload / 64 * 70 / 65)
}

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

// alone returns the variant in which a thread waits for each line alone.
func (v variant) alone() variant {
	v.name += ", a line at a time"
	v.serial = true
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

// The processor and its memory, chosen so that two of the eight times of table 1 for hostCC are the
// paper's: those of flows at 8:2 and at 8:8 (P50).
const (
	linesInFlight = 7
	// sustained is the bandwidth at which memory's queue would be without bound. It is below that
	// of its channels, because reads and writes alternate and rows conflict.
	sustained = memory * 6 / 10
	fullLink  = 200 * gbps
)

// serverAt returns the testbed's server, at small scale with an eighth of the cache and of the
// rings.
func serverAt(s experiment.Scale) machine {
	mc := machine{cache: hostmodel.Xeon4309Y, link: fullLink, ring: 4096}
	if s == experiment.Small {
		mc.cache.Size /= 8
		mc.ring /= 8
	}
	return mc
}

// with returns the machine with a variant's settings. Memory is as fast in relation to the link at
// every scale.
func (mc machine) with(v variant) machine {
	mc.hit, mc.miss = lineHit, lineMiss
	mc.parallel = linesInFlight
	mc.sustained = units.BitRate(float64(sustained) / float64(fullLink) * float64(mc.link))
	if v.serial {
		mc.parallel = 1
	}
	if v.serial || v.constant {
		mc.sustained = 0
	}
	if v.others {
		mc.cache.Size -= mc.cache.Size / units.Bytes(mc.cache.Ways)
		mc.cache.Ways--
	}
	if v.ideal {
		mc.miss, mc.sustained = mc.hit, 0
	}
	return mc
}
