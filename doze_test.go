package goroce

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDoze(t *testing.T) {
	var z doze
	require.False(t, z.wake(), "nobody dozes")
	began := time.Now()
	z.wait(time.Hour, func() bool { return true })
	z.wait(time.Millisecond, func() bool { return false })
	require.GreaterOrEqual(t, time.Since(began), time.Millisecond)
	for range 100 {
		woken := make(chan struct{})
		go func() {
			defer close(woken)
			z.wait(time.Hour, func() bool { return false })
		}()
		for !z.wake() {
			time.Sleep(time.Microsecond)
		}
		<-woken
	}
}

// Either the sleeper sees the work or its producer sees the sleeper.
func TestDozeMissesNothing(t *testing.T) {
	var z doze
	var made, done atomic.Int64
	const total = 5_000
	go func() {
		for i := range int64(total) {
			for done.Load() < i {
				runtime.Gosched()
			}
			made.Add(1)
			z.wake()
		}
	}()
	for done.Load() < total {
		z.wait(time.Hour, func() bool { return made.Load() > done.Load() })
		done.Store(made.Load())
	}
}

func TestFewCallersDoze(t *testing.T) {
	var ended atomic.Int64
	var dozes [3 * maxDozing]doze
	for i := range dozes {
		go func() {
			dozes[i].try(func() bool { return false })
			ended.Add(1)
		}()
	}
	require.Eventually(t, func() bool { return ended.Load() == int64(len(dozes)) },
		10*time.Second, time.Millisecond)
	require.Zero(t, dozing.Load())
}
