package goroce

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"
)

// events logs what happens to connections and to the port. Of each kind of event eventBurst are
// logged in eventPeriod, so that a flood of clients does not become a flood of lines; the next one
// after that has the number of those that are missing, as "suppressed".
type events struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[string]*eventKind
}

const (
	eventBurst  = 10
	eventPeriod = 10 * time.Second
)

// eventKind counts the events of one kind since began.
type eventKind struct {
	began              time.Time
	logged, suppressed int
}

func newEvents(log *slog.Logger) *events {
	return &events{log: log, kinds: map[string]*eventKind{}}
}

// add logs an event, whose message is its kind, unless there were too many. It may wait for the
// log's writer: a polling core must not call it.
func (e *events) add(level slog.Level, message string, args ...any) {
	if !e.log.Enabled(context.Background(), level) {
		return
	}
	suppressed, ok := e.count(message, time.Now())
	if !ok {
		return
	}
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	e.log.Log(context.Background(), level, message, args...)
}

// count counts an event. It reports whether it is logged, and how many before it were not.
func (e *events) count(message string, now time.Time) (suppressed int, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := e.kinds[message]
	if k == nil {
		k = &eventKind{began: now}
		e.kinds[message] = k
	}
	if now.Sub(k.began) >= eventPeriod {
		k.began, k.logged = now, 0
	}
	if k.logged == eventBurst {
		k.suppressed++
		return 0, false
	}
	k.logged++
	suppressed, k.suppressed = k.suppressed, 0
	return suppressed, true
}

// logBegin logs that a connection has been established.
func (c *Conn) logBegin() {
	c.events.add(slog.LevelInfo, "connection established", "peer", c.peer, "qp", uint32(c.qp.Num),
		"remote_qp", uint32(c.peerQPN))
}

// logEnd logs why a connection ended: as a warning unless one of the sides closed it.
func (c *Conn) logEnd() {
	level, why := slog.LevelInfo, c.ended()
	if !errors.Is(why, io.EOF) && !errors.Is(why, ErrClosed) {
		level = slog.LevelWarn
	}
	c.events.add(level, "connection ended", "peer", c.peer, "qp", uint32(c.qp.Num), "reason", why)
}
