package main

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	runRole() // returns unless this is a process that the tests started
	os.Exit(m.Run())
}

func init() {
	leak := func(int) error {
		_, err := syscall.Dup(0)
		return err
	}
	fake := map[string]campaign{
		"test-wrong": {run: func(r *run) error {
			return r.forEachRound(func(int) error { return errors.New("two\nlines") })
		}},
		"test-crash": {run: func(r *run) error {
			return r.forEachRound(func(int) error {
				return syscall.Kill(os.Getpid(),
					syscall.SIGSEGV)
			})
		}},
		"test-leak": {run: func(r *run) error { return r.forEachRound(leak) }},
		"test-hang": {run: func(*run) error { select {} }},
		"test-peer-leak": {
			run: func(r *run) error {
				p, err := r.startPeer("an argument")
				if err != nil {
					return err
				}
				return r.forEachRound(func(int) error {
					_, err := p.call("leak")
					return err
				})
			},
			peer: func(in *orders, args []string) error {
				for order, more := in.next(); more; order, more = in.next() {
					if order != "leak" || args[0] != "an argument" {
						return errors.New("unexpected order or argument")
					}
					if err := leak(0); err != nil {
						return err
					}
					in.reply("leaked")
				}
				return nil
			},
		},
	}
	for name, c := range fake {
		c.name = name
		register(c)
	}
}

func verdict(t *testing.T, name string, rounds int, patience time.Duration) (line string,
	passed bool) {
	t.Helper()
	c, err := findCampaign(name)
	require.NoError(t, err)
	var out bytes.Buffer
	s := runner{rounds: rounds, stallLimit: patience, out: &out}
	passed = s.runCampaign(c)
	require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n")), "one line per campaign")
	return out.String(), passed
}

func TestCampaignsHold(t *testing.T) {
	for _, name := range []string{"dial-loop", "dial-memif", "flood-cm", "flood-neighbours",
		"flood-tcp", "memif-close", "memif-kill", "random-ports", "watch-close"} {
		t.Run(name, func(t *testing.T) {
			line, passed := verdict(t, name, 8, 4*time.Minute)
			require.True(t, passed, line)
			require.Regexp(t, `^ok +`+name+` +8 rounds`, line)
		})
	}
}

// TestStallMonitor checks that a stall is counted and that CPU time of the process is not.
func TestStallMonitor(t *testing.T) {
	for _, c := range []struct {
		name        string
		gap, used   time.Duration
		least, most time.Duration
	}{
		{"stopped", time.Second, 0, 980 * time.Millisecond, time.Minute},
		{"ran on both cores", time.Second, 2 * time.Second, 0, 0},
		{"half of the time", time.Second, 500 * time.Millisecond, 480 * time.Millisecond,
			time.Minute},
		{"late by a little", 0, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for try := range 10 {
				w := &stallMonitor{lastTime: time.Now().Add(-c.gap), lastCPU: cpuTime() - c.used}
				got := w.total()
				require.GreaterOrEqual(t, got, c.least)
				if got <= c.most || try == 9 { // otherwise the test itself was stopped
					require.LessOrEqual(t, got, c.most)
					return
				}
			}
		})
	}
}

func TestFailuresAreReported(t *testing.T) {
	for name, want := range map[string]string{
		"test-wrong":     `round 0: two; lines`,
		"test-crash":     `ended without a verdict: signal: segmentation fault|exit status 2`,
		"test-leak":      `usage grew from \d+ descriptors`,
		"test-peer-leak": `usage grew from|the peer exited`,
		"test-hang":      `exit status 2`, // after the goroutine dump
	} {
		patience := 4 * time.Minute
		if name == "test-hang" {
			patience = time.Second
		}
		line, passed := verdict(t, name, 20, patience)
		require.False(t, passed, name)
		require.Regexp(t, `^FAIL +`+name+` .*(`+want+`)`, line)
	}
}

func TestMatching(t *testing.T) {
	all, err := matching("")
	require.NoError(t, err)
	require.Len(t, all, len(campaigns))
	_, err = matching("no-such-campaign")
	require.ErrorContains(t, err, "-run no-such-campaign matches no campaign")
	_, err = matching("[")
	require.ErrorContains(t, err, "-run: error parsing regexp")
}
