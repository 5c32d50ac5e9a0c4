package cc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/units"
)

const (
	us   = units.Microsecond
	gbps = units.Gbps
)

// everything is a path that gives every signal; its BDP is 120 packets.
var everything = Path{LineRate: 100 * gbps, BaseRTT: 9600 * units.Nanosecond, Payload: 1000,
	Signals: allSignals}

// make1 returns an algorithm of a known type.
func make1[T any](t testing.TB, spec string, path Path) T {
	t.Helper()
	s, err := Parse(spec)
	require.NoError(t, err)
	a, err := s.New(path)
	require.NoError(t, err)
	as, ok := any(a).(T)
	require.True(t, ok, "%s is %T", spec, a)
	return as
}

// at returns a time in microseconds.
func at(micros float64) units.Time { return units.Time(micros * float64(us)) }

// rtt returns an acknowledgement of n packets, the newest of which had this delay.
func rtt(delay units.Duration, n int) *Event {
	return &Event{Kind: RTT, Delay: delay, Packets: n, Bytes: units.Bytes(n) * 1000}
}

// acks is a flow whose windows are acknowledged one after another.
type acks struct {
	una, nxt uint32
}

// window acknowledges n packets, of which the first ones are marked; each acknowledgement admits
// the next packet.
func (s *acks) window(n, marked int) []Event {
	events := make([]Event, n)
	for i := range events {
		s.una = (s.una + 1) & 0xffffff
		s.nxt = (s.una + uint32(n)) & 0xffffff
		events[i] = Event{Kind: ACK, PSN: s.una, SndNxt: s.nxt, Packets: 1, Bytes: 1000}
		if i < marked {
			events[i].Kind, events[i].Marked = ECN, 1
		}
	}
	return events
}
