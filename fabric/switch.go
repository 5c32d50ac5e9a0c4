package fabric

import (
	"fmt"

	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/transport/wire"
	"github.com/goroce/goroce/units"
)

// SwitchConfig configures a switch.
type SwitchConfig struct {
	// Buffer is the size of the buffer shared by all ports; 0 means unlimited.
	Buffer units.Bytes
	// Delay is the forwarding delay of a frame, in addition to serialisation and queueing.
	Delay units.Duration
	// Queues returns the queues of a port by its rate. Nil means lossy queues in strict priority.
	Queues func(rate units.BitRate) Queues
	// IgnorePauses makes the switch ignore pause frames, like one without PFC.
	IgnorePauses bool
	// INT makes the switch write an INT record into each departing packet that has a free one.
	INT bool
}

// Switch forwards frames between its ports: store and forward, queues at the output.
type Switch struct {
	net    *Network
	index  int
	name   string
	config SwitchConfig
	ports  []*Port
	tier   uint64 // links to the nearest host; switches of one tier use the same hash
	routes []uint32
	groups [][]*Port // sets of ports of equal cost, indexed by routes

	shared units.Bytes // size of the shared part of the buffer
	used   units.Bytes // bytes of it in use
	stored units.Bytes // bytes in the whole buffer
	stats  SwitchStats
	held   map[uint8]*Held // by DSCP; nil unless Follow was called
}

// SwitchStats has the counters of a switch.
type SwitchStats struct {
	NoRoute uint64      // dropped: no path to the host, or every path is down
	Fullest units.Bytes // maximum number of bytes in the buffer
}

// Name returns the name of the switch.
func (s *Switch) Name() string { return s.name }

// Ports returns the ports in the order of Connect.
func (s *Switch) Ports() []*Port { return s.ports }

// Stats returns the counters of the switch.
func (s *Switch) Stats() SwitchStats { return s.stats }

// Recount resets Fullest to the current value, such as at the start of a measurement.
func (s *Switch) Recount() { s.stats.Fullest = s.stored }

// Stored returns the number of bytes in the buffer.
func (s *Switch) Stored() units.Bytes { return s.stored }

// String returns the name of the switch.
func (s *Switch) String() string { return s.name }

// build sets up the ports and the buffer after all links are connected.
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
				return fmt.Errorf("fabric: %s: queue %d has a Share and the level of another "+
					"queue, want its own level", s.name, i)
			}
			for k := range qs[:i] {
				if qs[i].Group > 0 && qs[k].Group == qs[i].Group &&
					(qs[k].Share != qs[i].Share || qs[k].Burst != qs[i].Burst) {
					return fmt.Errorf("fabric: %s: queues %d and %d of one group differ in Share "+
						"or Burst, want equal values", s.name, k, i)
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
			return fmt.Errorf("fabric: %s: reserve and headroom of %d ports need %d bytes, want "+
				"less than the buffer of %d bytes",
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

// level returns the level of a queue, by default its number.
func (q *Queues) level(i int) int {
	if q[i].Level != 0 {
		return q[i].Level
	}
	return i
}

// receive forwards a frame that came in at port in.
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
	s.accept(in, out, q, f)
}

// accept enqueues a frame that came in at port in at port out, or drops it.
func (s *Switch) accept(in, out *Port, q *queue, f *frame) {
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
		s.net.record(trace.FrameDropped, out, f.prio, units.Bytes(f.size), 0)
		s.net.drop(f)
		return
	}
	if q.marks {
		if e := q.config.ecn(f); !e.AtDequeue && e.Kmax > 0 {
			s.markECN(q, f, e)
		}
	}
	if q.config.Bolt.Frame > 0 {
		s.applyBolt(in, out, q, f)
	}
	out.enqueue(f, f.prio)
	out.kick()
}

// markECN marks a frame with the probability of its queue's length.
func (s *Switch) markECN(q *queue, f *frame, e *ECN) {
	if f.ecn == wire.ECNNotECT || f.ecn == wire.ECNCE || q.bytes < e.Kmin {
		return
	}
	if p := e.probability(q.bytes); p >= 1 || p > 0 && s.net.rng.Float64() < p {
		f.mark()
		q.stats.Marked++
		s.net.record(trace.FrameMarked, s, f.prio, q.bytes, 0)
	}
}

// dequeued releases the buffer space of a frame and writes its INT record.
func (s *Switch) dequeued(out *Port, q *queue, f *frame) {
	s.release(f)
	if s.config.INT {
		s.stamp(out, q, f)
	}
}
