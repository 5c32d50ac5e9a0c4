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

// testRound is one round: when it polled the port, when it began to send, and when it was over, in
// microseconds.
type testRound struct {
	polls, sends, over int  // over -1: Ended was not called, for there was nothing to do
	full               bool // the burst did not empty the port
	idle               int  // virtual time then skipped until this time; 0: it did not
}

func (e *Endpoint) round(r testRound) {
	e.rounds.beginReceive(at(r.polls), &e.responseWait)
	if !r.full {
		e.rounds.onPortEmpty()
	}
	e.rounds.beginTransmit(at(r.sends), &e.responseWait)
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
		before    []testRound
		looks     int
		gap, away units.Duration
	}{
		{"polled again at once", []testRound{{polls: 0, sends: 0, over: 0}}, 0, 0, 0},
		{"after a round that worked", []testRound{{polls: 0, sends: 2, over: 3}}, 3, 3 * us, 0},
		{"after a round without work", []testRound{{polls: 0, sends: 0, over: quiet}}, 1, us, us},
		{"after a nap",
			[]testRound{{polls: 0, sends: 2, over: 3}, {polls: 3, sends: 3, over: quiet}},
			53, 50 * us, 50 * us},
		{"after work and a nap", []testRound{{polls: 0, sends: 2, over: 3}}, 53, 53 * us, 50 * us},
		{"after full bursts: it is since the port was empty",
			[]testRound{{polls: 0, sends: 0, over: quiet},
				{polls: 1, sends: 3, over: 4, full: true},
				{polls: 4, sends: 6, over: 7, full: true}},
			7, 7 * us, us},
		{"after a full burst and a short one",
			[]testRound{{polls: 0, sends: 0, over: quiet},
				{polls: 1, sends: 3, over: 4, full: true},
				{polls: 4, sends: 6, over: 7}},
			7, 3 * us, 0},
		{"receiving took as long as it may", []testRound{{polls: 0, sends: 200, over: 200}}, 200,
			200 * us, 0},
		{"receiving was interrupted", []testRound{{polls: 0, sends: 201, over: 203}}, 203, 203 * us,
			201 * us},
		{"sending was interrupted", []testRound{{polls: 0, sends: 2, over: 5002}}, 5002, 5002 * us,
			5000 * us},
		{"sending was interrupted, of a full burst", []testRound{{polls: 0, sends: 0, over: 0},
			{polls: 0, sends: 2, over: 5002, full: true}}, 5010, 5010 * us, 5008 * us},
		{"both were interrupted, and a nap", []testRound{{polls: 0, sends: 300, over: 700}}, 720,
			720 * us, 720 * us},
		{"rounds that were skipped, because they would have found nothing",
			[]testRound{{polls: 0, sends: 2, over: 3, idle: 40}}, 41, us, us},
		{"no such rounds while the port may have more",
			[]testRound{{polls: 0, sends: 0, over: 0}, {polls: 10, sends: 12, over: 13, full: true,
				idle: 40}}, 41, 41 * us, 38 * us},
		{"such rounds in the past", []testRound{{polls: 10, sends: 12, over: 13, idle: 5}}, 14,
			4 * us, us},
		{"a clock that went back", []testRound{{polls: 10, sends: 10, over: 10}}, 5, 0, 0},
	} {
		e := &Endpoint{}
		for _, r := range c.before {
			e.round(r)
		}
		e.rounds.beginReceive(at(c.looks), &e.responseWait)
		assert.Equal(t, c.gap, e.rounds.gap, c.name)
		assert.Equal(t, c.away, e.rounds.away, c.name)
	}
}

// An endpoint is behind from its return until it has found the port empty.
func TestBehind(t *testing.T) {
	for _, c := range []struct {
		name     string
		away     int
		full     bool
		isBehind bool
	}{
		{"away, and there is more", 201, true, true},
		{"away, and there is no more", 201, false, false},
		{"hardly away, and there is more", 200, true, false},
	} {
		e := &Endpoint{}
		e.round(testRound{})
		e.round(testRound{polls: c.away, sends: c.away, over: c.away, full: c.full})
		assert.Equal(t, c.isBehind, e.rounds.isBehind(), c.name)
		e.round(testRound{polls: c.away, sends: c.away, over: c.away})
		assert.False(t, e.rounds.isBehind(), c.name)
	}
}

// A frame left at some time in the phase in which it was sent.
func TestTxRounds(t *testing.T) {
	for _, c := range []struct {
		name           string
		sends, over    int
		duration, away units.Duration
	}{
		{"no time", 3, 3, 0, 0},
		{"a phase", 3, 8, 5 * us, 0},
		{"the longest phase", 3, 203, 200 * us, 0},
		{"an interrupted phase", 3, 204, 201 * us, 201 * us},
	} {
		e := &Endpoint{}
		e.rounds.beginReceive(at(0), &e.responseWait)
		e.rounds.onPortEmpty()
		e.rounds.beginTransmit(at(c.sends), &e.responseWait)
		d := e.rounds.txRound()
		assert.Equal(t, d, e.rounds.txRound(), "%s: one for each round", c.name)
		duration, away := e.rounds.txDelay(d)
		assert.Zero(t, duration+away, "%s: it is not over", c.name)
		e.Ended(at(c.over))
		duration, away = e.rounds.txDelay(d)
		assert.Equal(t, c.duration, duration, c.name)
		assert.Equal(t, c.away, away, c.name)
	}
}

// roundsKept departures are kept; rounds in which nothing leaves do not count.
func TestTxRoundsKept(t *testing.T) {
	e := &Endpoint{}
	e.rounds.txNumber = 1<<32 - 100 // the numbers wrap
	depart := func(round int) uint32 {
		e.rounds.beginReceive(at(round), &e.responseWait)
		e.rounds.beginTransmit(at(round), &e.responseWait)
		d := e.rounds.txRound()
		e.Ended(e.rounds.txStart.Add(units.Duration(round+1) * units.Nanosecond))
		return d
	}
	first := depart(0)
	for i := range 3 * maxTxRounds { // nothing leaves
		e.round(testRound{polls: 1, sends: 1 + i%7, over: 20})
	}
	for i := range maxTxRounds - 1 {
		duration, _ := e.rounds.txDelay(first)
		assert.Equal(t, units.Nanosecond, duration, "%d later", i)
		depart(i + 1)
	}
	duration, _ := e.rounds.txDelay(first)
	assert.Equal(t, units.Nanosecond, duration, "the oldest departure that is remembered")
	last := depart(maxTxRounds)
	duration, _ = e.rounds.txDelay(first)
	assert.Zero(t, duration, "forgotten")
	duration, _ = e.rounds.txDelay(last)
	assert.Equal(t, (maxTxRounds+1)*units.Nanosecond, duration)
	duration, _ = e.rounds.txDelay(last + 1)
	assert.Zero(t, duration, "not yet")
}

func TestNanosecondsOfATxRound(t *testing.T) {
	for d, want := range map[units.Duration]uint32{
		-us: 0, 0: 0, 1: 1, units.Nanosecond: 1, units.Nanosecond + 1: 2, us: 1000,
		4 * units.Second: 4e9, 5 * units.Second: 1<<32 - 1,
	} {
		assert.Equal(t, want, extension.Nanoseconds(d), d)
	}
}
