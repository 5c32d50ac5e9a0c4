package taurus

import "github.com/goroce/goroce/units"

// interval is what a core did in a slice.
type interval struct {
	whole    bool // the core was not taken away
	signals  uint64
	lost     uint64
	messages uint64
	busy     units.Duration // in polls that found something
}

func (t *interval) add(u interval) {
	t.signals += u.signals
	t.lost += u.lost
	t.messages += u.messages
	t.busy += u.busy
}

// recorder records the activity of a core.
type recorder struct {
	begin    units.Time
	records  []interval
	slice    int // the current slice
	at       *interval
	switches int64
	away     bool // the core was taken away in this slice, even if no context switch was counted
}

func newRecorder(begin units.Time, records []interval) *recorder {
	return &recorder{begin: begin, records: records, slice: slicesOfTurn,
		at: &records[slicesOfTurn]}
}

// moveOn moves to the slice of a time, and reports whether the turn continues.
func (k *recorder) moveOn(now units.Time) bool {
	i := slicesOfTurn
	if d := now.Sub(k.begin); d >= 0 {
		i = min(int(d/slice), slicesOfTurn)
	}
	if i == k.slice {
		return i < slicesOfTurn || now.Before(k.begin)
	}
	n := switches()
	k.at.whole = n == k.switches && i == k.slice+1 && !k.away
	k.slice, k.switches, k.at, k.away = i, n, &k.records[i], false
	return i < slicesOfTurn
}

// worked records that the core was busy from its last time until another, with a number of
// messages. That may span several slices.
func (k *recorder) worked(from, to units.Time, messages uint64) {
	whole, left, away := to.Sub(from), messages, k.away
	for {
		end := k.begin
		switch {
		case k.slice < slicesOfTurn:
			end = k.begin.Add(units.Duration(k.slice+1) * slice)
		case !from.Before(k.begin): // the turn is over
			end = to
		}
		if !end.Before(to) {
			k.at.busy += to.Sub(from)
			k.at.messages += left
			return
		}
		part := uint64(float64(messages) * end.Sub(from).Seconds() / whole.Seconds())
		k.at.busy += end.Sub(from)
		k.at.messages += part
		left -= part
		away = away || switches() != k.switches
		k.away = away
		k.moveOn(end)
		k.away = away // all of it may have been in here
		from = end
	}
}
