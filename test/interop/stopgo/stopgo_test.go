package main

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/connect/perftest"
	"github.com/goroce/goroce/units"
)

// TestFlow checks the stops in a message of 1000 bytes: before it, and when half of it has arrived.
func TestFlow(t *testing.T) {
	f := &flow{size: 1000, probes: 2}
	const open, no = window, units.Bytes(0)
	require.Equal(t, open, f.Start(0).Window)
	for i, c := range []struct {
		ev      cc.Event
		window  units.Bytes
		probeAt units.Time
	}{
		{cc.Event{Kind: cc.POST, Left: 1000}, no, units.Time(0).Add(pause)},
		{cc.Event{Kind: cc.RTT, Probe: true, Delay: 5 * units.Microsecond, Left: 1000}, no,
			units.Time(1).Add(pause)},
		{cc.Event{Kind: cc.RTO, Probe: true, Left: 1000}, no, units.Time(2).Add(pause)},
		{cc.Event{Kind: cc.RTT, Probe: true, Delay: 7 * units.Microsecond, Left: 1000}, open, 0},
		{cc.Event{Kind: cc.RTT, Bytes: 400, Left: 600}, open, 0},
		{cc.Event{Kind: cc.ACK, Bytes: 200, Left: 400}, no, units.Time(5).Add(pause)},
		// packets that were in flight
		{cc.Event{Kind: cc.ACK, Bytes: 100, Left: 300}, no, units.Time(5).Add(pause)},
		{cc.Event{Kind: cc.RTT, Probe: true, Delay: units.Microsecond, Left: 300}, no,
			units.Time(7).Add(pause)},
		{cc.Event{Kind: cc.RTT, Probe: true, Delay: units.Microsecond, Left: 300}, open, 0},
		{cc.Event{Kind: cc.RTT, Bytes: 100, Left: 200}, open, 0}, // once
	} {
		d := f.On(&c.ev, units.Time(i))
		require.Equal(t, c.window, d.Window, i)
		require.Equal(t, c.probeAt, d.ProbeAt, i)
	}
	require.Equal(t, "stopped before a message: 2 probes answered, 1 lost, delay 7us, 5us to 7us",
		f.stops[0].String())
	require.Equal(t, "stopped in one, 400 bytes to go: 2 probes answered, 0 lost, delay 1us, 1us "+
		"to 1us", f.stops[1].String())
	require.Equal(t, "4 probes in 2 stops answered, and 1 lost before; delay 5 us, 90 % of them "+
		"up to 7 us", f.sum())
}

func TestParse(t *testing.T) {
	parse := func(args []string) (s settings, code int, errs string) {
		var text bytes.Buffer
		c := s.command()
		c.RunE = func(*cobra.Command, []string) error { return nil }
		code = cli.Run(t.Context(), c, &text, &text, cli.SingleDash(c, args)...)
		return s, code, text.String()
	}
	s, code, text := parse([]string{"-d", "loop:", "-ip", "10.0.0.1/24", "-verb", "read", "-n", "3",
		"10.0.0.2"})
	require.Zero(t, code, text)
	require.Equal(t, perftest.Read, s.verb)
	require.Equal(t, "10.0.0.2:18515", s.peer)
	require.Equal(t, units.MiB, s.size)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"0 arguments, want one", []string{"-ip", "10.0.0.1/24"}},
		{"-verb atomic", []string{"-ip", "10.0.0.1/24", "-verb", "atomic", "x"}},
		{`-ip ""`, []string{"x"}},
		{"want 4 packets", []string{"-ip", "10.0.0.1/24", "-s", "4096", "x"}},
		{"-n 0", []string{"-ip", "10.0.0.1/24", "-n", "0", "x"}},
		{"-probes 0", []string{"-ip", "10.0.0.1/24", "-probes", "0", "x"}},
	} {
		_, code, text := parse(c.args)
		require.Equal(t, cli.Misuse, code)
		require.Contains(t, text, c.says)
	}
}
