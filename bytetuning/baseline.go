package bytetuning

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goroce/goroce/units"
)

// Path is what baselines are computed from.
type Path struct {
	Rate   units.BitRate // of the hosts' links
	Uplink units.BitRate // of the fastest link, if it is another
	Link   units.Duration
	RTT    units.Duration
	MTU    units.Bytes
}

// frame is a full packet of RoCEv2 with a path MTU of 4096 and its headers.
const frame units.Bytes = 4200

// pauseResponse is how long a port goes on after it heard a pause: 3840 bit times (802.3, annex
// 31B.3.7).
const pauseResponse units.Bytes = 480

// headroom is twice equation 5 at the fastest link: switches count whole cells and preambles, and
// all ports of a layer have one headroom here.
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

// step is a threshold at which marking begins with all: Kmax is a cell above.
func (p Path) step(k units.Bytes) Watermark {
	return Watermark{Kmin: k, Kmax: k + Cell, Pmax: 100, Headroom: p.headroom(), Alpha: -3}
}

// perRate scales what was given for a rate.
func (p Path) perRate(b units.Bytes, rate units.BitRate) units.Bytes {
	return units.Bytes(float64(b) * float64(p.Rate) / float64(rate))
}

// baselines are watermarks that somebody gave (tables 2 and 3). Where a source has no α or
// headroom, α is HPCC's 1/8, and headroom is Path's.
var baselines = map[string]func(Path) Watermark{
	// The paper's experience-based watermark is not disclosed. OURS.
	"experience": func(Path) Watermark {
		return Watermark{Kmin: 1000 * Cell, Kmax: 2000 * Cell, Pmax: 20, Headroom: 300 * Cell,
			Alpha: -3}
	},
	// Huawei's advice for throughput (CloudEngine AI Fabric guide): 7/200 KB/10 % at 25GE, 7/750
	// KB/10 % at 100GE.
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
	// NVIDIA's for RoCE on its switches (NVUE, "nv set qos roce"), with α and headroom of its
	// buffers in SONiC.
	"nvidia": func(p Path) Watermark {
		return Watermark{Kmin: 150_000, Kmax: 1_500_000, Pmax: 100,
			Headroom: max(35_840, p.headroom())}
	},
}

// Baselines answers the names of known watermarks.
func Baselines() []string { return slices.Sorted(maps.Keys(baselines)) }

// Baseline answers the watermark of a name.
func Baseline(name string, p Path) (Watermark, error) {
	b, ok := baselines[strings.ToLower(name)]
	if !ok {
		return Watermark{}, fmt.Errorf("bytetuning: no baseline %q; there are %s", name,
			strings.Join(Baselines(), ", "))
	}
	return b(p), nil
}
