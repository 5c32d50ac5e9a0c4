package fabric

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Share puts the pollers of several hosts, and programs that do something else, on one core, where
// they take turns. The zero value gives the host a core of its own.
type Share struct {
	// Core is the number of the core, from 1; 0: it is not shared. All hosts with the same number
	// have the same Share.
	Core int
	// Loops is how many programs besides never stop, and use up every turn.
	Loops int
	// Slice is the longest turn; 0 means 3 ms.
	Slice units.Duration
	// Spin is how long a poller looks in vain before it yields the rest of its turn.
	Spin units.Duration
	// Switch is what passes between two turns; 0 means 2 µs.
	Switch units.Duration
}

func (s Share) validate() error {
	if s.Core < 0 || s.Loops < 0 || min(s.Slice, s.Spin, s.Switch) < 0 {
		return fmt.Errorf("share %+v: nothing in it may be negative", s)
	}
	return nil
}

// Away is how long a host may wait for its turn at most, when so many share the core.
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

// turns are a shared core at work: its members, hosts first, have it one after the other. Only
// turns that matter are looked at: the one at hand is known up to the present, and those to come
// are as short as they are when their hosts find nothing to do.
type turns struct {
	Share
	asked Share
	hosts []*Host
	who   int          // has it, or has it next
	begin units.Time   // since then
	began []units.Time // of each host's last turn
	lost  []units.Time // the end of each host's last turn
}

// join gives a host its seat on a core.
func (n *Network) join(h *Host, s Share) (*turns, error) {
	if n.cores == nil {
		n.cores = map[int]*turns{}
	}
	t := n.cores[s.Core]
	if t == nil {
		t = &turns{Share: s.withDefaults(), asked: s}
		n.cores[s.Core] = t
	}
	if t.asked != s {
		return nil, fmt.Errorf("share %+v: another host of this core has %+v", s, t.asked)
	}
	h.seat = len(t.hosts)
	t.hosts = append(t.hosts, h)
	t.began, t.lost = append(t.began, 0), append(t.lost, 0)
	rng := n.random(sharing, uint64(s.Core))
	t.who = rng.IntN(t.members())
	t.begin = units.Time(-rng.Int64N(int64(t.Slice)))
	return t, nil
}

func (t *turns) members() int { return len(t.hosts) + t.Loops }

// end is when the turn at hand ends, as far as is known.
func (t *turns) end() units.Time {
	if t.who >= len(t.hosts) {
		return t.begin.Add(t.Slice)
	}
	h := t.hosts[t.who]
	idle := min(max(t.begin, h.core.worked).Add(t.Spin), t.begin.Add(t.Slice))
	return max(idle, h.busyUntil)
}

// round is how long it takes until all have had their turn and nobody found anything to do.
func (t *turns) round() units.Duration {
	return units.Duration(t.Loops)*t.Slice + units.Duration(len(t.hosts))*t.Spin +
		units.Duration(t.members())*t.Switch
}

// advance passes the core on until now is in a turn, or between two.
func (t *turns) advance(now units.Time) {
	for end := t.end(); now.After(end); end = t.end() {
		if t.who < len(t.hosts) {
			t.began[t.who], t.lost[t.who] = t.begin, end
		}
		t.who = (t.who + 1) % t.members()
		t.begin = end.Add(t.Switch)
		// What nobody used need not be gone through, but for the last rounds, from which lost is
		// known.
		if idle := now.Sub(t.begin)/t.round() - 2; idle > 0 {
			t.begin = t.begin.Add(idle * t.round())
		}
	}
}

// next returns when a host has the core next: now, or a moment before which it does not.
func (t *turns) next(h *Host, now units.Time) units.Time {
	if t.who == h.seat {
		return max(now, t.begin)
	}
	at := t.end().Add(t.Switch)
	for who := (t.who + 1) % t.members(); who != h.seat; who = (who + 1) % t.members() {
		if who < len(t.hosts) {
			at = at.Add(t.Spin + t.Switch)
		} else {
			at = at.Add(t.Slice + t.Switch)
		}
	}
	return at
}

// held reports whether a host had the core at a moment of its last two turns, and since when.
func (t *turns) held(seat int, at units.Time) (begin units.Time, had bool) {
	if t.who == seat && !t.begin.After(at) {
		return t.begin, true
	}
	return t.began[seat], !t.began[seat].After(at) && !at.After(t.lost[seat])
}
