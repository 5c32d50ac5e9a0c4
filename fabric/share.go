package fabric

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Share lets the pollers of several hosts and other programs share one core in turns. The zero
// value gives the host its own core.
type Share struct {
	// Core is the number of the core, from 1; 0 means not shared. All hosts of a core must have the
	// same Share.
	Core int
	// Loops is the number of other programs on the core, which never yield.
	Loops int
	// Slice is the maximum length of a turn; 0 means 3 ms.
	Slice units.Duration
	// Spin is how long a poller is idle before it yields the rest of its turn.
	Spin units.Duration
	// Switch is the time of a context switch between two turns; 0 means 2 µs.
	Switch units.Duration
}

func (s Share) validate() error {
	if s.Core < 0 || s.Loops < 0 || min(s.Slice, s.Spin, s.Switch) < 0 {
		return fmt.Errorf("share %+v: want no negative value", s)
	}
	return nil
}

// Away returns the maximum time that a host waits for its turn when so many hosts share the core.
func (s Share) Away(hosts int) units.Duration {
	s = s.withDefaults()
	return units.Duration(hosts+s.Loops) * (s.Slice + s.Switch)
}

func (s Share) withDefaults() Share {
	if s.Slice == 0 {
		s.Slice = 3 * units.Millisecond
	}
	if s.Switch == 0 {
		s.Switch = 2 * units.Microsecond
	}
	s.Spin = min(s.Spin, s.Slice)
	return s
}

// turns is the state of a shared core. Its members, hosts first, have it in turns. The current turn
// is known up to the present. Later turns are assumed to be as short as when their hosts are idle.
type turns struct {
	Share
	config  Share
	hosts   []*Host
	current int          // member that has the core, or has it next
	begin   units.Time   // start of its turn
	began   []units.Time // start of each host's last turn
	lost    []units.Time // end of each host's last turn
}

// join adds a host to a shared core.
func (n *Network) join(h *Host, s Share) (*turns, error) {
	if n.cores == nil {
		n.cores = map[int]*turns{}
	}
	t := n.cores[s.Core]
	if t == nil {
		t = &turns{Share: s.withDefaults(), config: s}
		n.cores[s.Core] = t
	}
	if t.config != s {
		return nil, fmt.Errorf("share %+v: want %+v as for the other hosts of core %d", s, t.config,
			s.Core)
	}
	h.seat = len(t.hosts)
	t.hosts = append(t.hosts, h)
	t.began, t.lost = append(t.began, 0), append(t.lost, 0)
	rng := n.random(streamShare, uint64(s.Core))
	t.current = rng.IntN(t.members())
	t.begin = units.Time(-rng.Int64N(int64(t.Slice)))
	return t, nil
}

func (t *turns) members() int { return len(t.hosts) + t.Loops }

// end returns when the current turn ends, as far as known.
func (t *turns) end() units.Time {
	if t.current >= len(t.hosts) {
		return t.begin.Add(t.Slice)
	}
	h := t.hosts[t.current]
	idle := min(max(t.begin, h.core.worked).Add(t.Spin), t.begin.Add(t.Slice))
	return max(idle, h.busyUntil)
}

// round returns the length of a round of turns in which all hosts are idle.
func (t *turns) round() units.Duration {
	return units.Duration(t.Loops)*t.Slice + units.Duration(len(t.hosts))*t.Spin +
		units.Duration(t.members())*t.Switch
}

// advance moves to the turn that contains now, or that follows now.
func (t *turns) advance(now units.Time) {
	for end := t.end(); now.After(end); end = t.end() {
		if t.current < len(t.hosts) {
			t.began[t.current], t.lost[t.current] = t.begin, end
		}
		t.current = (t.current + 1) % t.members()
		t.begin = end.Add(t.Switch)
		// Skip idle rounds, except the last ones, which set began and lost.
		if idle := now.Sub(t.begin)/t.round() - 2; idle > 0 {
			t.begin = t.begin.Add(idle * t.round())
		}
	}
}

// next returns now if a host has the core, and otherwise a time before which it does not.
func (t *turns) next(h *Host, now units.Time) units.Time {
	if t.current == h.seat {
		return max(now, t.begin)
	}
	at := t.end().Add(t.Switch)
	for i := (t.current + 1) % t.members(); i != h.seat; i = (i + 1) % t.members() {
		if i < len(t.hosts) {
			at = at.Add(t.Spin + t.Switch)
		} else {
			at = at.Add(t.Slice + t.Switch)
		}
	}
	return at
}

// held reports whether a host had the core at a time in its last two turns, and since when.
func (t *turns) held(seat int, at units.Time) (begin units.Time, had bool) {
	if t.current == seat && !t.begin.After(at) {
		return t.begin, true
	}
	return t.began[seat], !t.began[seat].After(at) && !at.After(t.lost[seat])
}
