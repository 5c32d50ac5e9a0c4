package cc

// psnAfter reports whether PSN a comes after b: their 24-bit difference, taken as signed, is
// positive.
func psnAfter(a, b uint32) bool {
	d := (a - b) & 0xffffff
	return d != 0 && d < 1<<23
}

// psnMark stores a PSN, to detect when a round trip has passed since.
type psnMark struct {
	psn uint32
	set bool
}

// at sets the mark: packets from sndNxt on will be sent after it.
func (m *psnMark) at(sndNxt uint32) { *m = psnMark{psn: sndNxt, set: true} }

// passed reports whether a packet sent after the mark is acknowledged, ack being the first PSN that
// is not. A mark never set is passed.
func (m *psnMark) passed(ack uint32) bool { return !m.set || psnAfter(ack, m.psn) }

// reached reports whether every packet sent before the mark is acknowledged, or, for a missing
// packet, whether it was sent after the mark. A mark never set is reached.
func (m *psnMark) reached(psn uint32) bool { return !m.set || !psnAfter(m.psn, psn) }
