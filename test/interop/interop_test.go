package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/impair"
	"github.com/goroce/goroce/test/interop/matrix"
	"github.com/goroce/goroce/test/interop/report"
	"github.com/goroce/goroce/units"
)

// soon returns a context that outlasts every operation here, even on a busy machine.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestProgram(t *testing.T) {
	ctx := soon(t)
	p := launch("bash", "-c", "echo here; read -t 30 <><(:); exit 3")
	require.NoError(t, p.says(ctx, "here"))
	p.signal(syscall.SIGTERM)
	o, err := p.wait(ctx)
	require.NoError(t, err)
	require.Equal(t, codeOfSignal+int(syscall.SIGTERM), o.code)

	p = launch("bash", "-c", "echo out; echo why >&2; exit 3")
	o, err = p.wait(ctx)
	require.NoError(t, err)
	require.Equal(t, outcome{code: 3, out: "out\n", errs: "why\n"}, o)
	require.EqualError(t, o.err(), "exit code 3: why")
	require.ErrorContains(t, p.says(ctx, "never"), `ended before it printed "never"`)
	require.Equal(t, "bash (here)", p.String())
	require.Contains(t, p.transcript(), "# exit code 3")

	o, err = launch("/no/such/program").wait(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, o.err(), os.ErrNotExist)
}

func TestProgramThatHangs(t *testing.T) {
	p := launch("bash", "-c", "trap '' TERM; echo deaf; while :; do read -t 1 <><(:); done")
	require.NoError(t, p.says(soon(t), "deaf"))
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond,
		errors.New("not done after 1ms"))
	defer cancel()
	_, err := p.wait(ctx)
	require.EqualError(t, err, "bash (here) hangs: not done after 1ms")
	require.ErrorContains(t, p.says(ctx, "never"), "did not print")
	p.end()
	require.Equal(t, codeOfSignal+int(syscall.SIGKILL), p.outcome().code)
}

// newGuest runs the agent in a shell of this machine instead of a guest.
func newGuest(t *testing.T) *guest {
	g, err := talk("t", exec.Command("bash", "-c", agent))
	require.NoError(t, err)
	t.Cleanup(g.leave)
	return g
}

func TestGuest(t *testing.T) {
	ctx, g := soon(t), newGuest(t)
	slow := g.start(20*time.Second, "echo slow;", "sleep 20")
	o, err := g.start(time.Minute, "printf", "'%s\\n'", "'a  b'",
		"&& echo why >&2; exit 7").wait(ctx)
	require.NoError(t, err)
	require.Equal(t, outcome{code: 7, out: "a  b\n", errs: "why\n"}, o)

	out, err := g.run(ctx, time.Minute, "echo $((6 * 7))")
	require.NoError(t, err)
	require.Equal(t, "42\n", out)
	_, err = g.run(ctx, time.Minute, "false")
	require.ErrorContains(t, err, "in guest t: false: exit code 1")

	select {
	case <-slow.ended:
		t.Fatal("a slow run blocked others")
	default:
	}
	slow.end()
	require.Equal(t, "slow\n", slow.outcome().out)
	require.NotZero(t, slow.outcome().code)
	require.Equal(t, "echo (guest t)",
		(&program{line: []string{"echo"}, place: slow.place}).String())
}

func TestGuestEndsCommandsThatTakeTooLong(t *testing.T) {
	o, err := newGuest(t).start(time.Second, "sleep 60").wait(soon(t))
	require.NoError(t, err)
	require.Equal(t, 124, o.code)
}

func TestGuestIsLost(t *testing.T) {
	ctx, g := soon(t), newGuest(t)
	p := g.start(time.Minute, "sleep 60")
	require.NoError(t, g.shell.Process.Kill())
	o, err := p.wait(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, o.err(), errGuestLost)
	_, err = g.run(ctx, time.Minute, "true")
	require.ErrorIs(t, err, errGuestLost)
}

func FuzzEnded(f *testing.F) {
	f.Add("end 1 0 :YQ== :\n")
	f.Add("end 1 0 : :\n")
	f.Add("end 1 0 x y\n")
	f.Fuzz(func(t *testing.T, line string) {
		if id, _, err := ended(line); err == nil {
			require.NotEmpty(t, id)
		}
	})
}

// printed returns the output of a Debian tool (test/interop/report/testdata) as an outcome.
func printed(t *testing.T, name string) outcome {
	b, err := os.ReadFile("report/testdata/" + name + ".txt")
	require.NoError(t, err)
	return outcome{out: string(b)}
}

func TestJudge(t *testing.T) {
	read := matrix.Cell{Test: matrix.ReadLat, Role: matrix.Client, Service: matrix.RC, Size: 64,
		MTU: 1024, QPs: 1}
	pong := matrix.Cell{Test: matrix.RCPingpong, Role: matrix.Server, Service: matrix.RC,
		Size: 4 * units.KiB, MTU: 1024, QPs: 1}
	of := func(text string, n int) outcome { return outcome{out: fmt.Sprintf(text, n)} }
	const row = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    " +
		"t_avg[usec]\n 64 %d 1 2 3 4\n"
	const row8 = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    " +
		"t_avg[usec]\n 8 %d 1 2 3 4\n"
	const pongs = "1638400 bytes in 1 seconds = 1 Mbit/sec\n%d iters in 1 seconds = 9 usec/iter\n"
	send := read
	send.Test, send.Role = matrix.SendLat, matrix.Server
	for name, c := range map[string]struct {
		cell         matrix.Cell
		ours, theirs outcome
		says         string // empty: all is well
	}{
		"a silent server": {read, of(row, 200), printed(t, "read_lat-server"), ""},
		"a client has to speak": {send, of(row, 200), printed(t, "read_lat-server"),
			"their client: the output has no table"},
		"so has this server": {send, printed(t, "read_lat-server"), of(row, 200),
			"our server: the output has no table"},
		"times between messages": {send, of(row, 199), of(row, 200), ""},
		"but only ours": {send, of(row, 200), of(row, 199),
			"their client: result of a different test: 199 messages of 64B, want 200 of 64B"},
		"another size": {read, of(row8, 200), outcome{},
			"our client: result of a different test: 200 messages of 8B"},
		"theirs fails": {read, of(row, 200), outcome{code: 1, errs: "it broke\n"},
			"theirs: exit code 1: it broke"},
		"ours does not start": {read, outcome{fault: os.ErrNotExist}, outcome{},
			"ours: file does not exist"},
		"verified": {pong, of(pongs, 200), of(pongs, 200), ""},
		"found corrupt by ours": {pong, of(pongs+"invalid data in page 0\n", 200), of(pongs, 200),
			"our server: wrong bytes arrived"},
	} {
		_, err := judge(c.cell, c.ours, c.theirs)
		if c.says == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.says, name)
		}
	}
	watched := send
	watched.Test, watched.Role, watched.Control = matrix.SendBW, matrix.Client, matrix.Swift
	const bandwidth = " #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n 64 " +
		"%d 1 1 1\n"
	_, err := judge(watched, of(bandwidth, 7), of(bandwidth, 9))
	require.NoError(t, err, "any number of messages")
	_, err = judge(watched, of(bandwidth, 0), of(bandwidth, 9))
	require.ErrorContains(t, err,
		"our client: result of a different test: 0 messages of 64B, want at least 1 of 64B")
	r, err := judge(read, of(row, 200), outcome{})
	require.NoError(t, err)
	require.Equal(t, "3.0 us", r.Figure())
}

func TestJudgeRping(t *testing.T) {
	c := matrix.Cell{Test: matrix.Rping, Role: matrix.Server, Service: matrix.RC, IP: matrix.IPv4,
		Size: units.KiB, MTU: 4096, QPs: 1}
	var all strings.Builder
	for i := range c.Iterations() {
		fmt.Fprintf(&all, "ping data: rdma-ping-%d: ABC\n", i)
	}
	_, err := judge(c, outcome{out: all.String()}, outcome{out: all.String()})
	require.NoError(t, err)
	_, err = judge(c, printed(t, "rping-server"), outcome{out: all.String()})
	require.ErrorContains(t, err,
		"our server: result of a different test: 3 messages verified, want 50")
}

func TestCommandLine(t *testing.T) {
	for args, says := range map[string]string{
		"-matrix some": "--matrix some: want quick or full", "-run (": "missing closing )",
		"-rounds 0": "--rounds 0", "--what": "unknown flag",
		"-differential -seeds 0": "--seeds 0: want at least 1",
		"-differential -figures": "want only one of them",
	} {
		_, err := parse(strings.Fields(args))
		require.ErrorContains(t, err, says)
	}
}

func TestSelection(t *testing.T) {
	pick := func(args ...string) selected {
		o, err := parse(args)
		require.NoError(t, err)
		return selection(o)
	}
	quick := pick()
	require.True(t, quick.all)
	require.True(t, quick.impaired())
	require.Len(t, quick.hostiles, len(hostiles))
	require.Len(t, pick("-matrix", "full").cells,
		len(matrix.Full())+len(matrix.CM())+len(matrix.Impaired())+len(matrix.Controlled()))
	require.Empty(t, pick("-run", "nothing").cells)
	require.True(t, pick("-run", "nothing").empty())
	require.False(t, pick("-run", "^bad/").empty())

	// A cell outside of the subset runs if its full name is given.
	for i, c := range matrix.Full() {
		if i%100 != 0 {
			continue
		}
		require.NotEmpty(t, pick("-run", "^"+regexp.QuoteMeta(c.String())+"$").cells, c)
	}
	var list strings.Builder
	quick.list(&list)
	require.Equal(t, len(quick.cells)+len(quick.hostiles)+len(probeds)+1,
		strings.Count(list.String(), "\n"))
}

func TestRemarks(t *testing.T) {
	c := matrix.Cell{Test: matrix.WriteBW, Role: matrix.Client, Service: matrix.RC,
		Impair: matrix.Loss}
	tr := &trial{
		cell: c, row: report.Row{Bandwidth: 12}, totals: report.Totals{Retransmits: 3},
		rxe:  report.RXE{"rcvd_seq_err": 2},
		wire: [2]counts{{RoCE: 10, Lost: 1}, {RoCE: 5, Lost: 2}}, tries: 2,
	}
	require.Equal(t, "12.00 MiB/s; wire: of 15 packets 3 lost; ours: retransmits 3; rxe: "+
		"sequence NAKs received 2; at try 2", tr.remarks())
	tr = &trial{cell: matrix.Cell{Test: matrix.WriteBW, Role: matrix.Client, Service: matrix.RC,
		Control: matrix.Swift}, seen: []report.Glance{
		{Goodput: 0.8}, {Goodput: 0.4, Window: 65536, Delay: 1500, Target: 5000,
			Cuts: map[string]uint64{"loss": 2, "delay": 1}},
	}}
	require.Equal(t, "we send 71.5 MiB/s; control: window 64KiB, delay 1.5 of 5.0 ms, cut 3 times",
		tr.remarks())
}

// TestRules checks that every impairment has a rule file, and that CNPs end with the congestion.
func TestRules(t *testing.T) {
	for _, kind := range append(matrix.Impairments, matrix.Marks, matrix.MarksLoss, matrix.CNPs) {
		r, err := impair.Load("../../" + rules(matrix.Cell{Impair: kind}))
		require.NoError(t, err)
		require.NotEmpty(t, r.Rules)
		if kind == matrix.CNPs {
			require.Equal(t, matrix.Cell{}.Congested(), units.Duration(r.Rules[0].For).Std())
		}
	}
}

// TestControlled checks the verdicts on cells that test congestion control.
func TestControlled(t *testing.T) {
	glance := func(window units.Bytes, mbps, delay float64, cnps uint64, cuts string,
		n uint64) report.Glance {
		return report.Glance{Elapsed: 1, Goodput: 0.1, Window: window, Rate: mbps / 1e3,
			Delay: delay, CNPs: cnps, Cuts: map[string]uint64{cuts: n}}
	}
	cell := func(test matrix.Test, role matrix.Role, control matrix.Control,
		impair matrix.Impairment) matrix.Cell {
		return matrix.Cell{Test: test, Role: role, Service: matrix.RC, Size: 4096, MTU: 1024,
			QPs: 1, Control: control, Impair: impair}
	}
	swift := cell(matrix.WriteBW, matrix.Client, matrix.Swift, matrix.Loss)
	clean := cell(matrix.WriteBW, matrix.Client, matrix.Swift, matrix.Clean)
	receiver := cell(matrix.WriteBW, matrix.Server, matrix.DCQCN, matrix.MarksLoss)
	unheard := cell(matrix.WriteBW, matrix.Client, matrix.DCQCN, matrix.Marks)
	slowed := cell(matrix.WriteBW, matrix.Client, matrix.DCQCN, matrix.CNPs)
	pingpong := cell(matrix.RCPingpong, matrix.Client, matrix.DCQCN, matrix.CNPs)
	stalled := glance(4096, 0, 100, 0, "loss", 3)
	stalled.Goodput = 0
	type seen = []report.Glance
	type wire = [2]counts
	for name, c := range map[string]struct {
		cell matrix.Cell
		seen seen
		wire wire
		says string // empty: all is well
	}{
		"sane":      {swift, seen{glance(4096, 0, 100, 0, "loss", 3)}, wire{}, ""},
		"unwatched": {swift, nil, wire{}, "printed no state of its congestion control"},
		"stalled": {swift, seen{glance(4096, 0, 100, 0, "loss", 3), stalled}, wire{},
			"stalled: nothing was sent"},
		"beyond its bound": {swift, seen{glance(256*1024+1, 0, 100, 0, "loss", 3)}, wire{},
			"want at most 256KiB"},
		"no samples": {swift, seen{glance(4096, 0, 0, 0, "loss", 3)}, wire{},
			"no delay was sampled"},
		"at the floor": {swift, seen{glance(4096, 0, 100, 0, "loss", 3),
			glance(1, 0, 100, 0, "loss", 3)}, wire{}, "window is 1B, 0.0009765625 packets"},
		"in between it may be": {swift,
			seen{glance(1, 0, 100, 0, "loss", 3), glance(4096, 0, 100, 0, "loss", 3)}, wire{}, ""},
		"never cut": {swift, seen{glance(4096, 0, 100, 0, "loss", 0)}, wire{},
			"never cut"},
		"a queue, not delay": {clean, seen{glance(4096, 0, 100, 0, "loss", 3)}, wire{},
			"want by delay"},
		"a queue":       {clean, seen{glance(4096, 0, 100, 0, "delay", 3)}, wire{}, ""},
		"CNPs":          {receiver, nil, wire{{CNPs: 5}, {Marked: 6}}, ""},
		"no marks":      {receiver, nil, wire{}, "none of the guest's packets was marked"},
		"no CNP":        {receiver, nil, wire{{}, {Marked: 6}}, "we sent no CNP for 6"},
		"too many CNPs": {receiver, nil, wire{{CNPs: 7}, {Marked: 6}}, "7 CNPs for 6"},
		"no CNP from the peer": {unheard, seen{glance(0, 100, 0, 0, "cnp", 0)},
			wire{{Marked: 9}, {}}, ""},
		"not capable": {unheard, seen{glance(0, 100, 0, 0, "cnp", 0)}, wire{},
			"none of our packets was marked"},
		"slowed without CNPs": {unheard, seen{glance(0, 50, 0, 0, "loss", 1)},
			wire{{Marked: 9}, {}}, "50.0 Mb/s at 1.0 s after cuts map[loss:1]"},
		"slow from the start": {unheard, seen{glance(0, 50, 0, 0, "timeout", 0)},
			wire{{Marked: 9}, {}}, "50.0 Mb/s at 1.0 s after cuts"},
		"slowed by a timeout": {unheard, seen{glance(0, 50, 0, 0, "timeout", 1)},
			wire{{Marked: 9}, {}}, ""},
		"a peer with CNPs": {unheard, seen{glance(0, 50, 0, 4, "cnp", 4)},
			wire{{Marked: 9}, {CNPs: 4}}, ""},
		"CNPs lost": {unheard, seen{glance(0, 100, 0, 0, "cnp", 0)},
			wire{{Marked: 9}, {CNPs: 4}}, "sent 4 CNPs, and we received none"},
		"slowed": {slowed,
			seen{glance(0, 50, 0, 4, "cnp", 4), glance(0, 100, 0, 4, "cnp", 4)},
			wire{1: {Notified: 4}}, ""},
		"CNPs without effect": {slowed, seen{glance(0, 100, 0, 4, "cnp", 0)},
			wire{1: {Notified: 4}}, "4 CNPs did not cut the rate"},
		"CNPs out of nowhere": {slowed, seen{glance(0, 50, 0, 5, "cnp", 5)},
			wire{1: {Notified: 4}}, "sent us 4 CNPs, and we received 5"},
		"cut to line rate": {slowed, seen{glance(0, 100, 0, 4, "cnp", 4)},
			wire{1: {Notified: 4}}, "in spite of cuts"},
		"slow to the end": {slowed, seen{glance(0, 50, 0, 4, "cnp", 4)},
			wire{1: {Notified: 4}}, "at the end, want line rate"},
		"slowed without a word":  {pingpong, nil, wire{1: {Notified: 4}}, ""},
		"without one to be told": {pingpong, nil, wire{}, "the wire sent us no CNP"},
	} {
		err := (&trial{cell: c.cell, seen: c.seen, wire: c.wire}).controlled()
		if c.says == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.says, name)
		}
	}
}

func TestSum(t *testing.T) {
	good := &trial{cell: matrix.Cell{Test: matrix.WriteBW, Role: matrix.Client, Service: matrix.RC}}
	bad := &trial{cell: matrix.Cell{Test: matrix.WriteBW, Role: matrix.Server, Service: matrix.RC},
		err: errOther}
	var out strings.Builder
	r := &run{out: &out, trials: []*trial{good, good, bad}, failed: []string{"it"},
		begun: time.Now()}
	require.ErrorIs(t, r.close(t.Context(), options{}), errSomeFailed)
	require.Regexp(t, `write_bw +RC +clean +2 +0 \(1 failed\)`, out.String())
	require.True(t, strings.HasSuffix(out.String(), "\n2 passed, 1 failed\n"))
}

func TestRecoveriesMustHappen(t *testing.T) {
	impaired := func(ours, theirs uint64) *trial {
		return &trial{cell: matrix.Cell{Impair: matrix.Loss},
			totals: report.Totals{Retransmits: ours}, rxe: report.RXE{"rcvd_seq_err": theirs}}
	}
	for _, c := range []struct {
		ours, theirs uint64
		ok           bool
	}{{1, 1, true}, {0, 1, false}, {1, 0, false}} {
		r := &run{out: new(strings.Builder), trials: []*trial{impaired(c.ours, c.theirs)}}
		require.Equal(t, c.ok, r.recoveries() == nil)
	}
}

func TestPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(file, []byte("# Title\n<!-- a -->\nold\n<!-- /a -->\nend\n"),
		0o644))
	require.NoError(t, write(file, "a", "| new |\n"))
	require.NoError(t, write(file, "a", "| newer |\n\n"))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "# Title\n<!-- a -->\n| newer |\n<!-- /a -->\nend\n", string(b))
	require.ErrorIs(t, write(file, "b", ""), errNoPlace)
	require.Equal(t, "| a | b |\n|---|---|\n| 1 | 2 |\n",
		markdown([][]string{{"a", "b"}, {"1", "2"}}))
}

func TestMedians(t *testing.T) {
	values := make([][][]float64, len(figures))
	for i := range values {
		values[i] = [][]float64{{10, 30, 20}, {20, 41}, {5}, {100}}
	}
	table := medians(values)
	require.Equal(t, []string{"write_bw, 4KiB, MiB/s", "20.0", "30.5", "5.0", "100.0", "1.52",
		"0.25"}, table[1])
	require.Equal(t, []string{"send_lat, 2B, us", "20.0", "30.5", "5.0", "100.0", "0.66", "4.00"},
		table[len(figures)])
}

func TestHello(t *testing.T) {
	require.Len(t, hello("5.00"), 16)
	require.Equal(t, "6.06\x00", hello(version)[:5])
}
