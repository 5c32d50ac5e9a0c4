package fabric

import (
	"fmt"

	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// SwitchConfig says what a switch is like.
type SwitchConfig struct {
	// Buffer is shared by all ports. 0 means as much as anybody wants.
	Buffer units.Bytes
	// Delay is what a frame waits for forwarding besides serialisation and queues.
	Delay units.Duration
	// Queues answers the queues of a port by its rate. Nil: lossy ones in strict priority.
	Queues func(rate units.BitRate) Queues
	// IgnorePauses makes the switch send on whatever pause frames ask of it, as one without PFC
	// does.
	IgnorePauses bool
	// INT makes the switch stamp the records that packets have room for, when they leave.
	INT bool
}

// Switch forwards frames between its ports: store and forward, queues at the output.
type Switch struct {
	net    *Network
	index  int
	name   string
	config SwitchConfig
	ports  []*Port
	tier   uint64 // links to the nearest host: switches of one tier hash alike
	routes []uint32
	groups [][]*Port // ports of equal cost; routes are indices

	shared units.Bytes // bytes that all may take
	used   units.Bytes // of them
	stored units.Bytes // in the whole buffer
	stats  SwitchStats
	held   map[uint8]*Held // by DSCP; nil unless somebody follows them
}

// SwitchStats counts what happened in a switch.
type SwitchStats struct {
	NoRoute uint64      // dropped: nobody has the address, or every way is down
	Fullest units.Bytes // most that was in the buffer
}

// Name is what the topology calls the switch.
func (s *Switch) Name() string { return s.name }

// Ports answers the ports in the order they were connected.
func (s *Switch) Ports() []*Port { return s.ports }

// Stats answers the counters of the switch.
func (s *Switch) Stats() SwitchStats { return s.stats }

// Recount forgets how full the buffer has been so far: of what came before that which is to be
// measured.
func (s *Switch) Recount() { s.stats.Fullest = s.stored }

// Stored answers the bytes in its buffer.
func (s *Switch) Stored() units.Bytes { return s.stored }

// String names the switch.
func (s *Switch) String() string { return s.name }

// build sets up ports and buffer, when all are connected.
func (s *Switch) build() error {
	queues := s.config.Queues
	if queues == nil {
		queues = Queues{}.At()
	}
	kept := units.Bytes(0)
	for _, p := range s.ports {
		qs := queues(p.rate)
		for i := range qs {
			if err := qs[i].validate(); err != nil {
				return fmt.Errorf("fabric: %s: queue %d: %w", s.name, i, err)
			}
			if qs[i].Share > 0 && sameLevel(&qs, i) {
				return fmt.Errorf("fabric: %s: queue %d is limited to a share of the link, and "+
					"needs a level of its own", s.name, i)
			}
			for k := range qs[:i] {
				if qs[i].Group > 0 && qs[k].Group == qs[i].Group &&
					(qs[k].Share != qs[i].Share || qs[k].Burst != qs[i].Burst) {
					return fmt.Errorf("fabric: %s: queues %d and %d have one limit together, and "+
						"differ in share or burst", s.name, k, i)
				}
			}
			kept += qs[i].Reserve
			if qs[i].Lossless {
				kept += qs[i].Headroom
			}
		}
		p.configure(&qs)
	}
	s.shared = units.Bytes(units.Forever)
	if s.config.Buffer > 0 {
		if s.shared = s.config.Buffer - kept; s.shared <= 0 {
			return fmt.Errorf("fabric: %s: reserves and headroom of %d ports take %d of %d bytes "+
				"of buffer: nothing is left to share",
				s.name, len(s.ports), int64(kept), int64(s.config.Buffer))
		}
	}
	return nil
}

func sameLevel(qs *Queues, at int) bool {
	for i := range qs {
		if i != at && qs.level(i) == qs.level(at) {
			return true
		}
	}
	return false
}

// level answers the level of a queue: its number, when it names none.
func (q *Queues) level(i int) int {
	if q[i].Level != 0 {
		return q[i].Level
	}
	return i
}

// receive forwards a frame that came in at a port.
func (s *Switch) receive(in *Port, f *frame) {
	out := s.route(f)
	if out == nil {
		s.stats.NoRoute++
		s.net.drop(f)
		return
	}
	q := &out.queues[f.prio]
	if limit := q.config.Trim; limit > 0 && q.bytes >= limit {
		s.trim(in, out, q, f)
		return
	}
	s.take(in, out, q, f)
}

// take puts a frame that came in at a port into a queue of another, if it may.
func (s *Switch) take(in, out *Port, q *queue, f *frame) {
	if limit := q.config.SelectiveDrop; limit > 0 && q.bytes >= limit && f.ecn == wire.ECNNotECT &&
		f.l3 != 0 {
		q.stats.Selected++
		s.net.drop(f)
		return
	}
	if !s.admit(in, q, f) {
		q.stats.Dropped++
		q.stats.DroppedBytes += uint64(f.size)
		in.queues[f.prio].stats.Refused++
		s.net.drop(f)
		return
	}
	if e := q.config.ecn(f); !e.AtDequeue && e.Kmax > 0 {
		s.consider(q, f, e)
	}
	if q.config.Bolt.Frame > 0 {
		s.bolt(in, out, q, f)
	}
	out.enqueue(f, f.prio)
	out.kick()
}

// consider marks the frame as the length of its queue asks for.
func (s *Switch) consider(q *queue, f *frame, e ECN) {
	if f.ecn == wire.ECNNotECT || f.ecn == wire.ECNCE || q.bytes < e.Kmin {
		return
	}
	if p := e.probability(q.bytes); p >= 1 || p > 0 && s.net.rng.Float64() < p {
		f.mark()
		q.stats.Marked++
	}
}

// leave gives the buffer of a frame back, and stamps what it saw.
func (s *Switch) leave(out *Port, q *queue, f *frame) {
	s.release(f)
	if s.config.INT {
		s.stamp(out, q, f)
	}
}
