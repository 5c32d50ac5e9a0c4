package sim

import (
	"fmt"

	"github.com/goroce/goroce/fabric/hostmodel"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Messages is a program that sends messages of one size to the Program of another host, and always
// keeps Depth of them outstanding. A message is outstanding until it is acknowledged or, if the
// Program replies, until its reply has arrived.
type Messages struct {
	From, To int
	Bytes    units.Bytes
	Depth    int            // outstanding messages; 0 means 1
	Start    units.Duration // time of the first posts
	Stop     units.Duration // end of its posts; 0 means never
}

// Program is the program of a host to which Messages go. It consumes messages one after another, in
// the order of their arrival.
type Program struct {
	Host int
	// Rate is the rate at which it consumes messages in the cache. RateAt, unless nil, returns the
	// rate for a message whose consumption begins at a time, in place of Rate.
	Rate   units.BitRate
	RateAt func(at units.Duration) units.BitRate
	// Cache, unless nil, is the last-level cache to which the NIC writes messages. Miss is the
	// additional time for each line that the program reads and that has been evicted. Order is the
	// order in which receive buffers are used.
	Cache *hostmodel.CacheConfig
	Miss  units.Duration
	Order hostmodel.Order
	// Reply is the size of the reply to each message; 0 means none.
	Reply units.Bytes
	// Done, unless nil, is called for each consumed message.
	Done func(m *MessageLog)
}

// rate returns the rate at a time.
func (p *Program) rate(at units.Duration) units.BitRate {
	if p.RateAt != nil {
		return p.RateAt(at)
	}
	return p.Rate
}

// MessageLog is the progress of Messages.
type MessageLog struct {
	Messages
	Conn *Conn
	// Posted, Delivered and Consumed are payload bytes: posted by the sender, written to the
	// receiver's memory, and consumed by its Program.
	Posted, Delivered, Consumed uint64

	program *ProgramLog
}

// ProgramLog is the progress of a Program.
type ProgramLog struct {
	Program
	// Host is the model of the host with the Cache, or nil.
	Host *hostmodel.Host

	sim      *Simulation
	buffers  *hostmodel.Queue
	waiting  []arrival
	working  bool
	idle     units.Duration // until idleFrom
	idleFrom units.Time
}

// arrival is a message that waits for the program.
type arrival struct {
	log   *MessageLog
	bytes units.Bytes
}

// startPrograms starts the workload's Messages and the Programs that consume them.
func (s *Simulation) startPrograms() error {
	w := &s.Workload
	for i := range w.Programs {
		if err := s.startProgram(&w.Programs[i]); err != nil {
			return err
		}
	}
	for _, m := range w.Messages {
		log := &MessageLog{Messages: m}
		for _, p := range s.result.Programs {
			if p.Program.Host == m.To {
				log.program = p
			}
		}
		if log.program == nil {
			return fmt.Errorf("sim: messages to host %d, which has no program", m.To)
		}
		conn, err := s.Connect(m.From, m.To)
		if err != nil {
			return err
		}
		log.Conn = conn
		conn.Written, conn.Arrived, conn.Replied = log.written, log.arrived, log.replied
		s.result.Messages = append(s.result.Messages, log)
	}
	for _, log := range s.result.Messages {
		s.Net.At(s.zero.Add(log.Start), func() {
			for range max(1, log.Depth) {
				log.post()
			}
		})
	}
	return nil
}

func (s *Simulation) startProgram(p *Program) error {
	log := &ProgramLog{Program: *p, sim: s, idleFrom: s.zero}
	s.result.Programs = append(s.result.Programs, log)
	if p.Cache == nil {
		return nil
	}
	buffers, size := 0, units.Bytes(0)
	for _, m := range s.Workload.Messages {
		if m.To == p.Host {
			buffers, size = buffers+max(1, m.Depth), max(size, m.Bytes)
		}
	}
	var err error
	if log.Host, err = hostmodel.New(hostmodel.Config{Cache: p.Cache}); err != nil {
		return err
	}
	log.buffers, err = log.Host.Queue(buffers, size, p.Order)
	return err
}

func (m *MessageLog) sim() *Simulation { return m.program.sim }

// post posts the next message.
func (m *MessageLog) post() {
	s := m.sim()
	if m.Stop > 0 && s.Net.Now().Sub(s.zero) >= m.Stop {
		return
	}
	m.Posted += uint64(m.Bytes)
	s.note(m.Conn.Send(m.Bytes))
}

func (m *MessageLog) written(status transport.Status, _ units.Time) {
	if status != transport.StatusSuccess {
		m.sim().note(fmt.Errorf("a message of %v to %v: %v", m.Conn.From.Host, m.Conn.To.Host,
			status))
		return
	}
	if m.program.Reply == 0 {
		m.post()
	}
}

func (m *MessageLog) replied(units.Bytes, units.Time) {
	m.Conn.QP.Admission().Answered(m.Bytes)
	m.post()
}

// arrived queues a message for the program.
func (m *MessageLog) arrived(bytes units.Bytes, now units.Time) {
	p := m.program
	if p.buffers != nil && !p.buffers.Receive(bytes, uint64(m.From)) {
		p.sim.note(fmt.Errorf("sim: no receive buffer for a message of %v", m.Conn.From.Host))
	}
	m.Delivered += uint64(bytes)
	p.waiting = append(p.waiting, arrival{m, bytes})
	if !p.working {
		p.working = true
		p.idle += now.Sub(p.idleFrom)
		p.begin(now)
	}
}

// begin starts the consumption of the oldest message.
func (p *ProgramLog) begin(now units.Time) {
	a := p.waiting[0]
	p.waiting = p.waiting[1:]
	took := p.rate(now.Sub(p.sim.zero)).Duration(a.bytes)
	var m hostmodel.Message
	if p.buffers != nil {
		m, _ = p.buffers.Read()
		took += units.Duration(m.Missed) * p.Miss
	}
	p.sim.Net.At(now.Add(took), func() {
		if p.buffers != nil {
			p.buffers.Release(m)
		}
		p.consumed(a)
	})
}

func (p *ProgramLog) consumed(a arrival) {
	m, now := a.log, p.sim.Net.Now()
	m.Consumed += uint64(a.bytes)
	m.Conn.Consumed(a.bytes)
	if p.Done != nil {
		p.Done(m)
	}
	if p.Reply > 0 {
		m.Conn.Reply(p.Reply)
	}
	if p.working = len(p.waiting) > 0; p.working {
		p.begin(now)
		return
	}
	p.idleFrom = now
}

// Idle returns the time for which the program has been idle so far.
func (p *ProgramLog) Idle() units.Duration {
	if p.working {
		return p.idle
	}
	return p.idle + p.sim.Net.Now().Sub(p.idleFrom)
}
