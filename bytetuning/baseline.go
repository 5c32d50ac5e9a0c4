package bytetuning

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goroce/goroce/units"
)

// Path holds the network parameters that baselines are computed from.
type Path struct {
	Rate   units.BitRate  // of the hosts' links
	Uplink units.BitRate  // of the fastest link, if faster than Rate
	Link   units.Duration // one-way delay of a link; 0 means 500 ns
	RTT    units.Duration
	MTU    units.Bytes // frame size; 0 means that of a path MTU of 4096
}

// frame is the size of a full RoCEv2 frame with a path MTU of 4096, including headers.
const frame units.Bytes = 4200

// pauseResponse is the data that a port may still send after it receives a pause frame: 3840 bit
// times (802.3, annex 31B.3.7).
const pauseResponse units.Bytes = 480

// headroom returns twice equation 5 at the fastest link. Switches count whole cells and preambles,
// and all ports of a layer share one headroom value here.
func (p Path) headroom() units.Bytes {
	mtu, link := p.MTU, p.Link
	if mtu == 0 {
		mtu = frame
	}
	if link == 0 {
		link = 500 * units.Nanosecond // 100 m
	}
	return 2 * Headroom(p.fastest(), link, mtu, pauseResponse)
}

func (p Path) fastest() units.BitRate { return max(p.Rate, p.Uplink) }

// step returns a watermark with step marking at k: every packet above k is marked. Kmax is one cell
// above k.
func (p Path) step(k units.Bytes) Watermark {
	return Watermark{Kmin: k, Kmax: k + Cell, Pmax: 100, Headroom: p.headroom(), Alpha: -3}
}

// perRate scales a threshold that was published for a link rate to p.Rate.
func (p Path) perRate(b units.Bytes, rate units.BitRate) units.Bytes {
	return units.Bytes(float64(b) * float64(p.Rate) / float64(rate))
}

// baselines are published watermarks (tables 2 and 3). Where a source gives no α or headroom, α
// is HPCC's 1/8 and headroom is Path.headroom.
var baselines = map[string]func(Path) Watermark{
	// The paper does not disclose its experience-based watermark. This one is ours.
	"experience": func(Path) Watermark {
		return Watermark{Kmin: 1000 * Cell, Kmax: 2000 * Cell, Pmax: 20, Headroom: 300 * Cell,
			Alpha: -3}
	},
	// Huawei's recommendation for throughput (CloudEngine AI Fabric guide): 7/200 KB/10 % at 25GE,
	// 7/750 KB/10 % at 100GE.
	"manufacturer": func(p Path) Watermark {
		w := Watermark{Kmin: 7_000, Kmax: 200_000, Pmax: 10, Headroom: p.headroom(), Alpha: -3}
		if p.Rate > 40*units.Gbps {
			w.Kmax = 750_000
		}
		return w
	},
	// Zhu et al., SIGCOMM 2015: 5 KB, 200 KB, 1 %, headroom 22.4 KB, β 8, at 40GE. A faster link
	// needs more headroom.
	"dcqcn": func(p Path) Watermark {
		headroom := units.Bytes(22_400)
		if p.fastest() > 40*units.Gbps {
			headroom = max(p.headroom(), headroom)
		}
		return Watermark{Kmin: 5_000, Kmax: 200_000, Pmax: 1, Headroom: headroom, Alpha: 3}
	},
	// Alizadeh et al., SIGCOMM 2010: 58.5 KB at 10GE.
	"dctcp": func(p Path) Watermark { return p.step(p.perRate(58_500, 10*units.Gbps)) },
	// Wu et al., CoNEXT 2012: equation 3.
	"ecnstar": func(p Path) Watermark { return p.step(max(Cell, ECNStarThreshold(p.Rate, p.RTT))) },
	// Li et al., SIGCOMM 2019, for DCQCN: 100 KB, 400 KB at 25GE, Pmax 20 %, α 1/8.
	"hpcc": func(p Path) Watermark {
		return Watermark{
			Kmin: p.perRate(100_000, 25*units.Gbps), Kmax: p.perRate(400_000, 25*units.Gbps),
			Pmax: 20, Headroom: p.headroom(), Alpha: -3,
		}
	},
	// NVIDIA's RoCE defaults for its switches (NVUE, "nv set qos roce"), with α and headroom from
	// its SONiC buffer profiles.
	"nvidia": func(p Path) Watermark {
		return Watermark{Kmin: 150_000, Kmax: 1_500_000, Pmax: 100,
			Headroom: max(35_840, p.headroom())}
	},
}

// Baselines returns the names of the known baselines, sorted.
func Baselines() []string { return slices.Sorted(maps.Keys(baselines)) }

// Baseline returns the watermark of a named baseline on path p. Names are case-insensitive.
func Baseline(name string, p Path) (Watermark, error) {
	b, ok := baselines[strings.ToLower(name)]
	if !ok {
		return Watermark{}, fmt.Errorf("bytetuning: unknown baseline %q; want one of %s", name,
			strings.Join(Baselines(), ", "))
	}
	return b(p), nil
}
