package bytetuninglab

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning/fluid"
	"github.com/goroce/goroce/lab/experiment"
)

// The tests of this file measure why the queue of the fluid model is shorter than that of the
// fabric. They share no code with either: packetModel simulates DCQCN's packets by itself.

// Parameters of table 4 in seconds, bytes and bits per second, and the fabric's frame.
const (
	modelRate   = 40e9
	modelTimer  = 55e-6
	modelCNP    = 50e-6
	modelDelay  = 15e-6
	modelFrame  = 1106
	modelAI     = 40e6
	modelGain   = 1. / 256
	modelWarmup = 20e-3
)

// packetFlow is a flow of DCQCN without a byte counter, which is 40 to 300 times as slow as the
// timer here.
type packetFlow struct {
	current, target, alpha float64 // R_C, R_T, α
	expiries               int     // of the timer since the last cut
	timer                  float64 // time of its next expiry, of α's as well
	packet                 float64 // time of the next packet
	gate                   float64 // time until which the receiver sends no CNP
	cnps                   []float64
}

// packetModel is a number of flows that share one queue.
type packetModel struct {
	flows []*packetFlow
	// mark returns the probability of a mark behind queue bytes.
	mark func(queue float64) float64
	rand *rand.Rand

	// Queue is the mean queue in bytes, Rate that of a flow in bit/s. Difference is the mean of
	// R_T - R_C before cuts and before increases.
	Queue, Rate                 float64
	CutDifference, UpDifference float64
	cuts, ups                   float64
}

func newPacketModel(n int, mark func(queue float64) float64) *packetModel {
	m := &packetModel{mark: mark, rand: rand.New(rand.NewPCG(1, 1))}
	for range n {
		r := modelRate / float64(n)
		m.flows = append(m.flows, &packetFlow{current: r, target: r, alpha: 0.15,
			timer: modelTimer * m.rand.Float64(), packet: 1e-5 * m.rand.Float64()})
	}
	return m
}

// next returns when f has its next event.
func (f *packetFlow) next() float64 {
	at := min(f.timer, f.packet)
	if len(f.cnps) > 0 {
		at = min(at, f.cnps[0])
	}
	return at
}

// run simulates and measures from modelWarmup on.
func (m *packetModel) run(seconds float64) {
	var queue, last, area, sent float64
	for last < seconds {
		f := slices.MinFunc(m.flows, func(a, b *packetFlow) int {
			if a.next() < b.next() {
				return -1
			}
			return 1
		})
		now := f.next()
		left := max(0, queue-(now-last)*modelRate/8)
		if last > modelWarmup {
			area += (queue - left) * (queue + left) / 2 * 8 / modelRate
		}
		queue, last = left, now
		switch now {
		case f.packet:
			hit := m.rand.Float64() < m.mark(queue)
			queue += modelFrame
			if arrives := now + queue*8/modelRate; hit && arrives >= f.gate {
				f.gate = arrives + modelCNP
				f.cnps = append(f.cnps, arrives+modelDelay)
			}
			f.packet = now + modelFrame*8/f.current
			if now > modelWarmup {
				sent += modelFrame * 8
			}
		case f.timer:
			m.increase(f)
		default:
			m.cut(f, now)
		}
	}
	m.Queue = area / (seconds - modelWarmup)
	m.Rate = sent / (seconds - modelWarmup) / float64(len(m.flows))
	m.CutDifference /= m.cuts
	m.UpDifference /= m.ups
}

func (m *packetModel) increase(f *packetFlow) {
	m.ups++
	m.UpDifference += f.target - f.current
	f.alpha *= 1 - modelGain
	f.timer += modelTimer
	if f.expiries++; f.expiries > 5 {
		f.target = min(f.target+modelAI, modelRate)
	}
	f.current = (f.current + f.target) / 2
}

func (m *packetModel) cut(f *packetFlow, now float64) {
	m.cuts++
	m.CutDifference += f.target - f.current
	f.cnps = f.cnps[1:]
	f.target = f.current
	f.current *= 1 - f.alpha/2
	f.alpha += modelGain * (1 - f.alpha)
	f.expiries, f.timer = 0, now+modelTimer
}

// The fabric's queue is that of the packet model, which is longer than the fluid model's.
func TestPacketsAgainstFabric(t *testing.T) {
	for _, c := range []struct {
		flows       int
		least, most float64 // of the fluid model's deviation
	}{{4, -0.2, -0.1}, {8, -0.3, -0.15}, {16, -0.35, -0.2}} {
		n := c.flows
		m := newPacketModel(n, func(queue float64) float64 {
			return min(0.1, max(0, 0.1*(queue-5000)/195_000))
		})
		m.run(0.1)
		j := experiment.NewJob(t.Context(), experiment.Cell{}, experiment.Full, 1, nil)
		fabric, err := packetQueue(j, n, 100*ms)
		require.NoError(t, err)
		assert.InEpsilon(t, m.Queue, fabric, 0.1, "%d flows in the fabric", n)
		at, err := fluid.FixedPoint(endless(n, 85*us))
		require.NoError(t, err)
		off := at.Queue*1000/fabric - 1
		t.Logf("%d flows: fluid %.0f bytes, packets %.0f, fabric %.0f; R_T - R_C before increases "+
			"%.2f times that before cuts", n, at.Queue*1000, m.Queue, fabric,
			m.UpDifference/m.CutDifference)
		assert.Greater(t, off, c.least, "%d flows of the fluid model", n)
		assert.Less(t, off, c.most, "%d flows of the fluid model", n)
	}
}

// The cause: equations 11 and 12 have one difference R_T - R_C for cuts and increases. A CNP is
// never within 50 µs of another, and restarts the timer; so increases follow a cut, when the
// difference is largest, and the next cut comes when it has decayed. A flow whose packets are
// marked independently, with the fluid model's probability, is therefore faster than C/N.
func TestDifferenceOfRates(t *testing.T) {
	for _, n := range []int{2, 8, 16} {
		c := endless(n, 85*us)
		c.Packet = modelFrame
		at, err := fluid.FixedPoint(c)
		require.NoError(t, err)
		m := newPacketModel(1, func(float64) float64 { return at.Mark })
		m.flows[0].current = modelRate / float64(n)
		m.run(8)
		faster := m.Rate/float64(at.Rate) - 1
		t.Logf("%d flows: %.3f faster than C/N; R_T - R_C before cuts %.3g, before increases %.3g",
			n, faster, m.CutDifference, m.UpDifference)
		assert.Greater(t, faster, 0.1)
		assert.Greater(t, m.UpDifference/m.CutDifference, 1.5)
	}
}
