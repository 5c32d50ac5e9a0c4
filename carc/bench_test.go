package carc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

// loop is a connection without delays, to measure the cost of a message.
type loop struct {
	gate    *Gate
	granter *Granter
	p       cc.Outgoing
	now     units.Time
}

func newLoop(t testing.TB, text string) *loop {
	spec, err := Parse(text)
	require.NoError(t, err)
	l := &loop{now: 1, p: cc.Outgoing{Bytes: 1024, Message: 1024, Completes: true,
		Backlog: cc.Backlog{Waits: 1024}}}
	l.gate, l.granter, err = spec.Endpoint().New(path)
	require.NoError(t, err)
	l.granter.Attach(&countingReporter{})
	l.credit(t)
	return l
}

func (l *loop) credit(t testing.TB) {
	if at := l.granter.Next(); at == 0 || at.After(l.now) {
		return
	}
	if n, some := l.granter.Emit(false, l.now); some {
		require.NoError(t, l.gate.Receive(&n, l.p.Backlog, l.now))
	}
}

// message runs the accounting for one message, at both ends.
func (l *loop) message(t testing.TB) bool {
	l.now += 100_000
	if !l.gate.Ready(&l.p, l.now) {
		return false
	}
	l.gate.Sent(&l.p, l.now)
	l.granter.Delivered(1024, l.now)
	l.granter.Consumed(1024, l.now+50_000)
	l.credit(t)
	return true
}

func TestNoMessageAllocates(t *testing.T) {
	for _, text := range []string{"llc=4MiB", "llc=4MiB,delta=off", "llc=8KiB,gather=0s",
		"llc=4MiB,share=active"} {
		l := newLoop(t, text)
		left := 0
		assert.Zero(t, testing.AllocsPerRun(2000, func() {
			if l.message(t) {
				left++
			}
		}), text)
		assert.Equal(t, 2001, left, text)
	}
}

// BenchmarkMessage measures the accounting for a message at either end, CREDITs included.
func BenchmarkMessage(b *testing.B) {
	for _, text := range []string{"llc=4MiB", "llc=4MiB,delta=off"} {
		b.Run(text, func(b *testing.B) {
			l := newLoop(b, text)
			for b.Loop() {
				if !l.message(b) {
					b.Fatal("no credits")
				}
			}
		})
	}
	b.Run("sender", func(b *testing.B) {
		l := newLoop(b, "llc=4MiB")
		n := cc.ControlMessage{Kind: cc.CREDIT, Credits: 65536, Epoch: 9}
		for i := 1; b.Loop(); i++ {
			if !l.gate.Ready(&l.p, l.now) {
				b.Fatal("no credits")
			}
			l.gate.Sent(&l.p, l.now)
			if i%64 == 0 {
				n.Returned += 64 * 16
				if l.gate.Receive(&n, l.p.Backlog, l.now) != nil {
					b.Fatal("CREDIT refused")
				}
			}
		}
	})
	b.Run("receiver", func(b *testing.B) {
		l := newLoop(b, "llc=4MiB")
		for b.Loop() {
			l.now += 100_000
			l.granter.Delivered(1024, l.now)
			l.granter.Consumed(1024, l.now+50_000)
			if at := l.granter.Next(); at != 0 && !at.After(l.now) {
				l.granter.Emit(false, l.now)
			}
		}
	})
}
