package goroce

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// logged is a buffer for any goroutine.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestEventsAreLimited(t *testing.T) {
	var text logged
	e := newEvents(slog.New(slog.NewTextHandler(&text, nil)))
	now := time.Now()
	for i := range 3 * eventBurst {
		suppressed, ok := e.count("flood", now)
		require.Zero(t, suppressed)
		require.Equal(t, i < eventBurst, ok)
	}
	_, ok := e.count("another", now)
	require.True(t, ok)
	suppressed, ok := e.count("flood", now.Add(eventPeriod))
	require.True(t, ok)
	require.Equal(t, 2*eventBurst, suppressed)
	suppressed, ok = e.count("flood", now.Add(eventPeriod))
	require.True(t, ok)
	require.Zero(t, suppressed)

	e.add(slog.LevelDebug, "not enabled")
	for i := range 2 * eventBurst {
		e.add(slog.LevelInfo, "event", "i", i)
	}
	require.Equal(t, eventBurst, strings.Count(text.String(), "\n"))
}

// An operator sees connections begin and end, with the reason, and the link change.
func TestEventsOfAHost(t *testing.T) {
	var text logged
	o := Options{Log: slog.New(slog.NewTextHandler(&text, nil))}
	a, err := Open("loop:"+t.Name(), o)
	require.NoError(t, err)
	defer a.Close()
	b, err := Open("loop:"+t.Name(), Options{})
	require.NoError(t, err)
	client, server := dialed(t, a, b)
	contains := func(words ...string) {
		t.Helper()
		require.Eventually(t, func() bool {
			for _, line := range strings.Split(text.String(), "\n") {
				missing := false
				for _, w := range words {
					missing = missing || !strings.Contains(line, w)
				}
				if !missing {
					return true
				}
			}
			return false
		}, 5*time.Second, 10*time.Millisecond, fmt.Sprint(words))
	}
	contains("INFO", "link is up")
	contains("INFO", "connection established", b.Addrs()[0].Addr().String())
	require.NoError(t, server.Close())
	contains("INFO", "connection ended", "EOF")
	require.NoError(t, client.Close())
	client, server = dialed(t, a, b)
	require.NoError(t, client.Send(t.Context(), nil))
	require.NoError(t, b.Close())
	contains("WARN", "link is down")
	require.Error(t, server.Err())
	require.NoError(t, client.Abort())
}
