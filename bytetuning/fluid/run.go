package fluid

import (
	"math"

	"github.com/goroce/goroce/units"
)

// Run integrates the model over its horizon, by Heun's method in fixed steps.
func Run(c Config) (*Result, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m := newModel(&c)
	watch := newWatch(&c)
	for m.n < m.steps {
		watch.take(m, m.step())
	}
	return watch.result(m), nil
}

// model is the state of the network after n steps.
type model struct {
	c       *Config
	d       dcqcn
	n       int
	steps   int
	dt      float64 // s
	buffer  float64 // packets
	service float64 // C, packets/s
	uplink  float64

	flows  []group
	q0, q1 float64 // queues of S0 and S1, packets
	past   delay
	queue  history // of q0
	came   float64 // packets, to S1
	lost   float64 // packets
	pause  pause
}

// group is Flows on their way.
type group struct {
	flow
	n     float64
	heard feedback // at the beginning of the step
	rate  history  // of R_C
}

func newModel(c *Config) *model {
	past, size := newDelay(c)
	m := &model{
		c: c, d: c.dcqcn(), dt: c.Step.Seconds(),
		steps:  int(math.Round(float64(c.Horizon) / float64(c.Step))),
		buffer: c.packets(c.Buffer), service: c.rate(c.Rate), uplink: c.rate(c.Uplink),
		past: past, queue: newHistory(size, 0), pause: newPause(c),
	}
	for _, f := range c.Flows {
		r := c.rate(f.Start)
		g := group{flow: flow{alpha: 1, target: r, current: r}, n: float64(f.N),
			rate: newHistory(size, r)}
		g.heard = m.d.hear(0, r) // before the beginning nothing was marked
		m.flows = append(m.flows, g)
	}
	return m
}

// step advances by dt and answers the packets that S0 sent in it.
func (m *model) step() (sent float64) {
	m.pause.step(m.n, m.q0)
	m.queue[m.past.now] = m.q0
	p := m.d.mark(m.past.of(m.queue))
	var arrived float64
	for i := range m.flows {
		g := &m.flows[i]
		g.rate[m.past.now] = g.current
		heard := m.d.hear(p, m.past.of(g.rate))
		before := m.d.change(g.flow, g.heard)
		after := m.d.change(m.d.after(g.flow, m.dt, before), heard)
		was := g.current
		g.flow = m.d.after(g.flow, m.dt/2,
			flow{before.alpha + after.alpha, before.target + after.target,
				before.current + after.current})
		g.heard = heard
		arrived += g.n * m.dt * (was + g.current) / 2
	}
	m.past.step(len(m.queue))
	m.n++
	m.came += arrived
	if m.uplink > 0 {
		return m.switches(arrived)
	}
	return m.equations(arrived)
}

// equations are 8, 9 and 13 over a step in which so many packets arrived.
func (m *model) equations(arrived float64) (sent float64) {
	serve := m.service * m.dt
	open := 1.
	if m.pause.on {
		open = 0
	}
	full := m.q1 >= m.buffer
	if m.q1 += arrived - serve*open; m.q1 < 0 { // comparisons, as in bound
		m.q1 = 0
	}
	if m.q1 > m.buffer {
		if !m.c.AsPublished {
			m.lost += m.q1 - m.buffer
		}
		m.q1 = m.buffer
	}
	if m.c.AsPublished && full {
		m.lost += arrived
	}
	there := m.q0 + arrived*open
	if sent = serve; there < serve {
		sent = there
	}
	if m.c.AsPublished && m.q0 >= m.buffer {
		return sent
	}
	if m.q0 = there - sent; m.q0 > m.buffer {
		m.q0 = m.buffer
	}
	return sent
}

// switches are queues in series: S0 gets what S1 sends.
func (m *model) switches(arrived float64) (sent float64) {
	var onwards float64
	if !m.pause.on {
		onwards = min(m.uplink*m.dt, m.q1+arrived)
	}
	m.q1 += arrived - onwards
	m.lost += max(0, m.q1-m.buffer)
	m.q1 = min(m.q1, m.buffer)
	sent = min(m.service*m.dt, m.q0+onwards)
	m.q0 += onwards - sent
	m.lost += max(0, m.q0-m.buffer)
	m.q0 = min(m.q0, m.buffer)
	return sent
}

// pause is equation 7 as the state that it is.
type pause struct {
	threshold, resume float64 // packets
	length            float64 // steps
	on                bool
	since             int
	n                 int // pauses
	steps             int // paused
}

func newPause(c *Config) pause {
	p := pause{threshold: math.Inf(1), resume: c.packets(c.XON),
		length: float64(c.Pause) / float64(c.Step)}
	if c.Kpfc > 0 {
		p.threshold = c.packets(c.Kpfc)
	}
	return p
}

func (p *pause) step(n int, q float64) {
	over := float64(n-p.since) >= p.length || p.resume > 0 && q <= p.resume
	if p.on && over {
		p.on = false
	}
	if !p.on && q >= p.threshold {
		p.on, p.since = true, n
		p.n++
	}
	if p.on {
		p.steps++
	}
}

// history is a ring of what a quantity was at each step.
type history []float64

// delay is where histories have the present, and the end of this step less τ*.
type delay struct {
	now, then int
	part      float64 // τ* is so much of a step less than from now to then
}

func newDelay(c *Config) (d delay, size int) {
	steps := float64(c.Delay) / float64(c.Step)
	whole := int(math.Ceil(steps))
	return delay{now: 0, then: 2 % (whole + 1), part: float64(whole) - steps}, whole + 1
}

// newHistory answers that of what was v before the beginning.
func newHistory(size int, v float64) history {
	h := make(history, size)
	for i := range h {
		h[i] = v
	}
	return h
}

func (d *delay) step(size int) {
	if d.now++; d.now == size {
		d.now = 0
	}
	if d.then++; d.then == size {
		d.then = 0
	}
}

// of answers the delayed value, between steps on a line.
func (d *delay) of(h history) float64 {
	v := h[d.then]
	if d.part == 0 {
		return v
	}
	next := d.then + 1
	if next == len(h) {
		next = 0
	}
	return v + d.part*(h[next]-v)
}

// Result is what came out. Rates are of one flow of the first group, queues in bytes with fractions
// of a packet left out.
type Result struct {
	Rate, RateMin units.BitRate   // R_C: mean of the tail, least of the run
	Rates         []units.BitRate // the mean of each group's
	Alpha         float64         // α_D at the end

	// S0, packets: mean of the tail, greatest of the run, least of the tail
	Queue, QueueMax, QueueMin float64
	TailMax                   float64 // greatest of the tail
	UpstreamMax               float64 // S1, packets
	Came, Lost                float64 // packets, at S1
	Sent                      float64 // packets, by S0
	Left                      float64 // packets, in both queues at the end
	Utilisation               float64 // of S0's link over the run
	QueueMean                 float64 // S0 over the run, packets

	Pauses int
	Paused units.Duration

	Series Series
}

// Series are samples of a run.
type Series struct {
	Time     []float64 // s
	Rate     []float64 // bit/s, of one flow of the first group
	Queue    []float64 // S0, packets
	Upstream []float64 // S1, packets
	Lost     []float64 // packets
}

// watch takes down a run.
type watch struct {
	r      Result
	c      *Config
	tail   int // first step of the tail
	every  int
	rates  []float64 // sums
	taken  int
	queue  float64
	queues float64
	least  float64
}

func newWatch(c *Config) *watch {
	tail := c.Tail
	if tail == 0 {
		tail = c.Horizon / 5
	}
	w := &watch{c: c, tail: int((c.Horizon - tail) / c.Step), least: math.Inf(1),
		rates: make([]float64, len(c.Flows))}
	w.r.QueueMin = math.Inf(1)
	if c.Every > 0 {
		w.every = max(1, int(c.Every/c.Step))
	}
	return w
}

func (w *watch) take(m *model, sent float64) {
	r := &w.r
	rate := m.flows[0].current
	r.Sent += sent
	if m.q0 > r.QueueMax {
		r.QueueMax = m.q0
	}
	if m.q1 > r.UpstreamMax {
		r.UpstreamMax = m.q1
	}
	if rate < w.least {
		w.least = rate
	}
	w.queues += m.q0
	if m.n > w.tail {
		w.taken++
		w.queue += m.q0
		r.TailMax = max(r.TailMax, m.q0)
		r.QueueMin = min(r.QueueMin, m.q0)
		for i := range m.flows {
			w.rates[i] += m.flows[i].current
		}
	}
	if w.every > 0 && m.n%w.every == 0 {
		s := &r.Series
		s.Time = append(s.Time, float64(m.n)*m.dt)
		s.Rate = append(s.Rate, rate*8*float64(w.c.Packet))
		s.Queue = append(s.Queue, m.q0)
		s.Upstream = append(s.Upstream, m.q1)
		s.Lost = append(s.Lost, m.lost)
	}
}

func (w *watch) result(m *model) *Result {
	r := &w.r
	for _, sum := range w.rates {
		r.Rates = append(r.Rates, w.c.bits(sum/float64(w.taken)))
	}
	r.Rate, r.RateMin = r.Rates[0], w.c.bits(w.least)
	r.Alpha = m.flows[0].alpha
	r.Queue = w.queue / float64(w.taken)
	r.QueueMean = w.queues / float64(m.steps)
	r.Came, r.Lost, r.Left = m.came, m.lost, m.q0+m.q1
	r.Utilisation = r.Sent / (m.service * m.dt * float64(m.steps))
	r.Pauses, r.Paused = m.pause.n, units.Duration(m.pause.steps)*w.c.Step
	return r
}
