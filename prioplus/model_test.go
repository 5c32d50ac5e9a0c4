package prioplus

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/cc/cctest"
	"github.com/goroce/goroce/units"
)

// model is n flows through one queue, packet by packet, without loss: the least network that shows
// which flow gets the bandwidth. Each sender has a link of line rate; acknowledgements and echoes
// do not queue. Noise is what hosts add to a delay.
type model struct {
	path  cc.Path
	noise units.Duration // uniform, on every acknowledgement
	// a packet may leave when only a part of it is within the window (the artifact); ours waits
	partial bool
	random  *rand.Rand
	cctest.EventQueue
	free    units.Time // when the bottleneck is idle
	flows   []*sender
	bin     units.Duration
	backlog []float64 // longest queue in each bin, in us
}

type sender struct {
	m              *model
	name           string
	a              cc.Algorithm
	p              *PrioPlus
	d              cc.Decision
	left, inFlight units.Bytes
	nxt, una       uint32
	out            units.Time // when the host's link is idle
	last           units.Time // when the last packet was sent, for pacing
	sent           bool
	waking         units.Time
	probing        units.Time // the pending ProbeAt
	probeSeq       int
	back           units.Time // when the last acknowledgement arrives: they are in order
	acked          units.Bytes
	done           units.Time
	goodput        []float64 // bytes a bin
	stops          int
	mostFlows      float64
	off            bool
}

func newModel(path cc.Path, seed uint64) *model {
	return &model{path: path, noise: 700 * units.Nanosecond,
		random: rand.New(rand.NewPCG(seed, 11)), bin: 20 * us}
}

func (m *model) run(until units.Duration) {
	m.Run(units.Time(until))
}

// oneWay is the propagation delay of a link; a round trip has four of them.
func (m *model) oneWay() units.Duration {
	return (m.path.BaseRTT - 2*m.path.LineRate.Duration(m.path.Payload)) / 4
}

// add starts a flow; with bytes 0 it never ends.
func (m *model) add(t testing.TB, name string, spec Spec, at units.Duration,
	bytes units.Bytes) *sender {
	path := m.path
	path.Seed, path.Hops = uint32(len(m.flows)), 1
	a, err := spec.New(path)
	require.NoError(t, err)
	if bytes == 0 {
		bytes = 1 << 50
	}
	s := &sender{m: m, name: name, a: a, p: a.(*PrioPlus), left: bytes}
	m.flows = append(m.flows, s)
	m.At(units.Time(at), func() {
		s.d = a.(cc.Starter).Start(m.Now)
		s.report(cc.Event{Kind: cc.POST})
	})
	return s
}

func (s *sender) stopAt(at units.Duration) {
	s.m.At(units.Time(at), func() { s.left = s.inFlight; s.off = true })
}

func (s *sender) report(ev cc.Event) {
	ev.SndNxt, ev.InFlight, ev.Left = s.nxt&0xffffff, s.inFlight, s.left
	before := s.p.stopped
	s.d = s.a.On(&ev, s.m.Now)
	if s.p.stopped && !before {
		s.stops++
	}
	s.mostFlows = max(s.mostFlows, float64(s.p.nflow))
	s.probe()
	s.send()
}

// probe sends the requested probe at its time.
func (s *sender) probe() {
	if at := s.d.ProbeAt; at != s.probing {
		s.probing = at
		if at != 0 {
			s.m.At(at, func() {
				if s.probing == at {
					s.probeSeq++
					s.cross(64, s.probeSeq, true)
				}
			})
		}
	}
}

func (s *sender) send() {
	m, size := s.m, s.m.path.Payload
	for s.left > s.inFlight && s.d.Window > 0 &&
		(s.inFlight == 0 || s.inFlight+size <= s.d.Window || m.partial && s.inFlight < s.d.Window) {
		at := m.Now
		if s.sent && s.d.Rate > 0 {
			at = max(at, s.last.Add(s.d.Rate.Duration(size)))
		}
		if at = max(at, s.out); at > m.Now {
			if s.waking <= m.Now || at < s.waking {
				s.waking = at
				m.At(at, func() {
					if s.waking == at {
						s.waking = 0
						s.send()
					}
				})
			}
			return
		}
		s.nxt++
		s.inFlight += size
		s.last, s.sent = m.Now, true
		s.cross(size, int(s.nxt), false)
	}
}

// cross passes a packet over the host's link, through the queue, and back.
func (s *sender) cross(size units.Bytes, seq int, probe bool) {
	m, left := s.m, s.m.Now
	s.out = max(s.out, m.Now).Add(m.path.LineRate.Duration(size))
	m.At(s.out.Add(m.oneWay()), func() {
		m.free = max(m.free, m.Now).Add(m.path.LineRate.Duration(size))
		m.seen(m.free.Sub(m.Now).Microseconds())
		noise := units.Duration(m.random.Int64N(int64(m.noise)))
		s.back = max(s.back, m.free.Add(3*m.oneWay()+noise))
		m.At(s.back, func() { s.returned(size, seq, probe, m.Now.Sub(left)) })
	})
}

func (s *sender) returned(size units.Bytes, seq int, probe bool, delay units.Duration) {
	if probe {
		if seq == s.probeSeq {
			s.report(cc.Event{Kind: cc.RTT, Probe: true, Delay: delay})
		}
		return
	}
	s.una = uint32(seq)
	s.inFlight -= size
	s.left -= size
	s.acked += size
	if s.left == 0 && s.done == 0 {
		s.done = s.m.Now
	}
	s.goodput = add(s.goodput, s.m.slot(), float64(size))
	s.report(cc.Event{Kind: cc.RTT, PSN: s.una & 0xffffff, Packets: 1, Bytes: size, Delay: delay})
}

func (m *model) slot() int { return int(units.Duration(m.Now) / m.bin) }

func (m *model) seen(queue float64) {
	m.backlog = add(m.backlog, m.slot(), 0)
	m.backlog[m.slot()] = max(m.backlog[m.slot()], queue)
}

func add(bins []float64, slot int, x float64) []float64 {
	for len(bins) <= slot {
		bins = append(bins, 0)
	}
	bins[slot] += x
	return bins
}

// share returns the fraction of the link that the flows of a name have in each bin.
func (m *model) share(name string) []float64 {
	all := make([]float64, m.slot()+1)
	for _, s := range m.flows {
		for i, b := range s.goodput {
			if s.name == name || name == "" {
				all[i] += b / float64(m.path.LineRate.Bytes(m.bin))
			}
		}
	}
	return all
}

// since returns how long after from the series first exceeds least for five bins in a row, in ms,
// or -1 if it never does.
func (m *model) since(series []float64, from units.Duration, least float64) float64 {
	run := 0
	for i := int(from / m.bin); i < len(series); i++ {
		if series[i] < least {
			run = 0
			continue
		}
		if run++; run == 5 {
			return (units.Duration(i-4)*m.bin - from).Microseconds() / 1000
		}
	}
	return -1
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(max(1, len(x)))
}
