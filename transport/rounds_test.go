package transport

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/goroce/goroce/internal/extension"
	"github.com/goroce/goroce/units"
)

const us = units.Microsecond

// at is a time of a test, in microseconds.
func at(micros int) units.Time { return units.Time(0).Add(units.Duration(micros) * us) }

// aRound is one round: when it polled the port, when it began to send, and when it was over, in
// microseconds.
type aRound struct {
	looks, sends, over int  // over -1: Ended was not called, for there was nothing to do
	full               bool // the burst did not empty the port
	idle               int  // virtual time then skipped until this time; 0: it did not
}

func (e *Endpoint) round(r aRound) {
	e.rounds.begin(at(r.looks), &e.stake)
	if !r.full {
		e.rounds.drained()
	}
	e.rounds.transmits(at(r.sends), &e.stake)
	if r.over >= 0 {
		e.Ended(at(r.over))
	}
	if r.idle > 0 {
		e.Idle(at(r.idle))
	}
}

// A frame may have waited since the port was last found empty; the part of that which the endpoint
// did not spend in its rounds, it was away.
func TestGapOfARound(t *testing.T) {
	const quiet = -1
	for _, c := range []struct {
		name      string
		before    []aRound
		looks     int
		gap, away units.Duration
	}{
		{"polled again at once", []aRound{{looks: 0, sends: 0, over: 0}}, 0, 0, 0},
		{"after a round that worked", []aRound{{looks: 0, sends: 2, over: 3}}, 3, 3 * us, 0},
		{"after a round without work", []aRound{{looks: 0, sends: 0, over: quiet}}, 1, us, us},
		{"after a nap", []aRound{{looks: 0, sends: 2, over: 3}, {looks: 3, sends: 3, over: quiet}},
			53, 50 * us, 50 * us},
		{"after work and a nap", []aRound{{looks: 0, sends: 2, over: 3}}, 53, 53 * us, 50 * us},
		{"after full bursts: it is since the port was empty",
			[]aRound{{looks: 0, sends: 0, over: quiet}, {looks: 1, sends: 3, over: 4, full: true},
				{looks: 4, sends: 6, over: 7, full: true}},
			7, 7 * us, us},
		{"after a full burst and a short one",
			[]aRound{{looks: 0, sends: 0, over: quiet}, {looks: 1, sends: 3, over: 4, full: true},
				{looks: 4, sends: 6, over: 7}},
			7, 3 * us, 0},
		{"receiving took as long as it may", []aRound{{looks: 0, sends: 200, over: 200}}, 200,
			200 * us, 0},
		{"receiving was interrupted", []aRound{{looks: 0, sends: 201, over: 203}}, 203, 203 * us,
			201 * us},
		{"sending was interrupted", []aRound{{looks: 0, sends: 2, over: 5002}}, 5002, 5002 * us,
			5000 * us},
		{"sending was interrupted, of a full burst", []aRound{{looks: 0, sends: 0, over: 0},
			{looks: 0, sends: 2, over: 5002, full: true}}, 5010, 5010 * us, 5008 * us},
		{"both were interrupted, and a nap", []aRound{{looks: 0, sends: 300, over: 700}}, 720,
			720 * us, 720 * us},
		{"rounds that were skipped, because they would have found nothing",
			[]aRound{{looks: 0, sends: 2, over: 3, idle: 40}}, 41, us, us},
		{"no such rounds while the port may have more",
			[]aRound{{looks: 0, sends: 0, over: 0}, {looks: 10, sends: 12, over: 13, full: true,
				idle: 40}}, 41, 41 * us, 38 * us},
		{"such rounds in the past", []aRound{{looks: 10, sends: 12, over: 13, idle: 5}}, 14, 4 * us,
			us},
		{"a clock that went back", []aRound{{looks: 10, sends: 10, over: 10}}, 5, 0, 0},
	} {
		e := &Endpoint{}
		for _, r := range c.before {
			e.round(r)
		}
		e.rounds.begin(at(c.looks), &e.stake)
		assert.Equal(t, c.gap, e.rounds.gap, c.name)
		assert.Equal(t, c.away, e.rounds.away, c.name)
	}
}

// An endpoint is behind from its return until it has found the port empty.
func TestBehind(t *testing.T) {
	for _, c := range []struct {
		name   string
		away   int
		full   bool
		behind bool
	}{
		{"away, and there is more", 201, true, true},
		{"away, and there is no more", 201, false, false},
		{"hardly away, and there is more", 200, true, false},
	} {
		e := &Endpoint{}
		e.round(aRound{})
		e.round(aRound{looks: c.away, sends: c.away, over: c.away, full: c.full})
		assert.Equal(t, c.behind, e.rounds.behind(), c.name)
		e.round(aRound{looks: c.away, sends: c.away, over: c.away})
		assert.False(t, e.rounds.behind(), c.name)
	}
}

// A frame left at some time in the phase in which it was sent.
func TestDepartures(t *testing.T) {
	for _, c := range []struct {
		name        string
		sends, over int
		took, away  units.Duration
	}{
		{"no time", 3, 3, 0, 0},
		{"a phase", 3, 8, 5 * us, 0},
		{"the longest phase", 3, 203, 200 * us, 0},
		{"an interrupted phase", 3, 204, 201 * us, 201 * us},
	} {
		e := &Endpoint{}
		e.rounds.begin(at(0), &e.stake)
		e.rounds.drained()
		e.rounds.transmits(at(c.sends), &e.stake)
		d := e.rounds.departure()
		assert.Equal(t, d, e.rounds.departure(), "%s: one for each round", c.name)
		took, away := e.rounds.departed(d)
		assert.Zero(t, took+away, "%s: it is not over", c.name)
		e.Ended(at(c.over))
		took, away = e.rounds.departed(d)
		assert.Equal(t, c.took, took, c.name)
		assert.Equal(t, c.away, away, c.name)
	}
}

// roundsKept departures are kept; rounds in which nothing leaves do not count.
func TestRoundsKept(t *testing.T) {
	e := &Endpoint{}
	e.rounds.number = 1<<32 - 100 // the numbers wrap
	depart := func(round int) uint32 {
		e.rounds.begin(at(round), &e.stake)
		e.rounds.transmits(at(round), &e.stake)
		d := e.rounds.departure()
		e.Ended(e.rounds.began.Add(units.Duration(round+1) * units.Nanosecond))
		return d
	}
	first := depart(0)
	for i := range 3 * roundsKept { // nothing leaves
		e.round(aRound{looks: 1, sends: 1 + i%7, over: 20})
	}
	for i := range roundsKept - 1 {
		took, _ := e.rounds.departed(first)
		assert.Equal(t, units.Nanosecond, took, "%d later", i)
		depart(i + 1)
	}
	took, _ := e.rounds.departed(first)
	assert.Equal(t, units.Nanosecond, took, "the oldest departure that is remembered")
	last := depart(roundsKept)
	took, _ = e.rounds.departed(first)
	assert.Zero(t, took, "forgotten")
	took, _ = e.rounds.departed(last)
	assert.Equal(t, (roundsKept+1)*units.Nanosecond, took)
	took, _ = e.rounds.departed(last + 1)
	assert.Zero(t, took, "not yet")
}

func TestNanosecondsOfADeparture(t *testing.T) {
	for d, want := range map[units.Duration]uint32{
		-us: 0, 0: 0, 1: 1, units.Nanosecond: 1, units.Nanosecond + 1: 2, us: 1000,
		4 * units.Second: 4e9, 5 * units.Second: 1<<32 - 1,
	} {
		assert.Equal(t, want, extension.Nanoseconds(d), d)
	}
}
