// Package fabriclab holds the experiments about the simulated fabric itself: what must be right
// before its results mean anything. One experiment a file.
package fabriclab

import (
	"math/rand/v2"

	"github.com/goroce/goroce/fabric"
	"github.com/goroce/goroce/fabric/openloop"
	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/units"
)

// Experiments are the experiments of this package.
var Experiments = []*experiment.Experiment{
	md1, mm1, sharing, lineRate, red, headroom, roundRobin, ecmp, tokenLimiter, incast, leafSpine,
}

const gbps = units.Gbps

// outside is the overhead of a frame on a link besides its bytes in a Buf: check sequence,
// preamble, gap.
const outside = 24

// backlog is a source that always has a frame.
func backlog(f openloop.Frame) func() (openloop.Frame, bool) {
	return func() (openloop.Frame, bool) { return f, true }
}

func generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// bottleneck returns a switch with sources on links so fast that they do not matter, and a sink,
// the last host.
func bottleneck(p fabric.Parts, sources int, rate units.BitRate) *fabric.Network {
	n := fabric.New(p.Config)
	s := n.AddSwitch("switch", p.Switch)
	for range sources {
		n.Connect(n.AddHost(p.Host), s, fabric.Link{Rate: 800 * gbps})
	}
	n.Connect(n.AddHost(p.Host), s, fabric.Link{Rate: rate})
	return n
}
