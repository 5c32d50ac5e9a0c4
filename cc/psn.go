package cc

// psnAfter says whether PSN a comes after b: the difference of 24 bits, taken as signed, is
// positive. So nothing else is needed where PSNs wrap.
func psnAfter(a, b uint32) bool {
	d := (a - b) & 0xffffff
	return d != 0 && d < 1<<23
}

// mark remembers a PSN, to tell when a round trip has passed since.
type mark struct {
	psn uint32
	set bool
}

// at sets the mark: packets from sndNxt on will be sent after it.
func (m *mark) at(sndNxt uint32) { *m = mark{psn: sndNxt, set: true} }

// passed says whether a packet sent after the mark is acknowledged, ack being the first PSN that is
// not. A mark never set is passed.
func (m *mark) passed(ack uint32) bool { return !m.set || psnAfter(ack, m.psn) }

// reached says whether every packet sent before the mark is acknowledged, or, of a missing packet,
// whether it was sent after the mark. A mark never set is reached.
func (m *mark) reached(psn uint32) bool { return !m.set || !psnAfter(m.psn, psn) }
