package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/cli"
)

// TestMain lets the test binary act as the helper processes that the program starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "spin":
			os.Exit(helper(spin(os.Args[2:])))
		case "within":
			os.Exit(helper(within(os.Args[2:])))
		}
	}
	os.Exit(m.Run())
}

// programOf makes a directory with a shell script named roce_send_bw. Its last argument is the JSON
// file.
func programOf(t *testing.T, script string) string {
	t.Helper()
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "roce_send_bw"),
		[]byte("#!/bin/sh\n"+script), 0o755))
	return bin
}

const writeResult = `for file; do :; done
echo '{"results": [{"BW_average": 1000, "MsgRate": 1}]}' > "$file"
`

// twoCPUs skips a test on a single CPU.
func twoCPUs(t *testing.T) {
	t.Helper()
	if cpus, err := allowedCPUs(); err != nil || len(cpus) < 2 {
		t.Skip("a single CPU: clients and servers cannot be placed on two")
	}
}

func testBench(t *testing.T, bin string) *bench {
	t.Helper()
	b, err := newBench(&settings{rounds: 2, deadline: 20 * time.Second, bin: bin})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.close()) })
	return b
}

func TestPlaces(t *testing.T) {
	twoCPUs(t)
	b := testBench(t, programOf(t, `grep Cpus_allowed_list /proc/self/status | cut -f2 \
	> "$(dirname "$0")/cpus"
`+writeResult))
	for _, p := range []place{quiet, busy, oneCPU} {
		o, err := b.once(t.Context(), on(p, goodput, large))
		require.NoError(t, err)
		assert.Empty(t, o.Error)
		assert.Equal(t, 1000.0, o.Value)
		assert.Positive(t, o.Seconds)
		if p == oneCPU {
			cpus, err := os.ReadFile(filepath.Join(b.bin, "cpus"))
			require.NoError(t, err)
			assert.NotContains(t, string(bytes.TrimSpace(cpus)), "-")
			assert.NotContains(t, string(cpus), ",")
		}
	}
}

func TestHalfACPU(t *testing.T) {
	b := testBench(t, programOf(t, `cat /proc/self/cgroup > "$(dirname "$0")/groups"
`+writeResult))
	if _, err := b.quota(); err != nil {
		t.Skip("the system does not permit a share of a CPU: ", err)
	}
	o, err := b.once(t.Context(), on(halfCPU, goodput, large))
	require.NoError(t, err)
	assert.Empty(t, o.Error)
	groups, err := os.ReadFile(filepath.Join(b.bin, "groups"))
	require.NoError(t, err)
	assert.Contains(t, string(groups), filepath.Base(b.group.dir))
}

func TestRunsThatFail(t *testing.T) {
	for script, want := range map[string]string{
		"echo first >&2; echo 'no such thing' >&2; exit 3": "exit status 3: no such thing",
		"exit 0":              "no JSON document",
		"sleep 60 & sleep 60": "did not end in 1s",
	} {
		b := testBench(t, programOf(t, script))
		b.deadline = time.Second
		begin := time.Now()
		o, err := b.once(t.Context(), on(quiet, goodput, large))
		require.NoError(t, err)
		assert.Contains(t, o.Error, want)
		assert.Less(t, time.Since(begin), 30*time.Second)
	}
}

func TestGivesUpAfterTwoFailures(t *testing.T) {
	b := testBench(t, programOf(t, "exit 1"))
	b.rounds = 7
	all, err := b.interleave(t.Context(), on(quiet, goodput, large), on(quiet, goodput, large))
	require.NoError(t, err)
	assert.Len(t, all[0], 1)
	assert.Len(t, all[1], 2)
}

func TestAnInterruptEndsEverything(t *testing.T) {
	twoCPUs(t)
	b := testBench(t, programOf(t, "sleep 60"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	begin := time.Now()
	_, err := b.once(ctx, on(busy, goodput, large))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(begin), 30*time.Second)
}

func TestTheWholeProgram(t *testing.T) {
	twoCPUs(t)
	bin, file := programOf(t, writeResult), filepath.Join(t.TempDir(), "x.json")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"--bin", bin, "--rounds", "2", "--only",
		"^quiet/swift$|fabric", "-v", "--json", file}, &out, &errs)
	assert.Equal(t, cli.Failed, code, "no lab")
	assert.Contains(t, out.String(), "1.00: 1000 to 1000 MiB/s")
	assert.Contains(t, out.String(),
		"roce_send_bw -s 64K -n 20000 --cc swift (quiet): 1000 1000 MiB/s")
	assert.Regexp(t, "bars that hold: [01] of 2; fail: 1", out.String())
	assert.Contains(t, errs.String(), "preview only")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var r report
	require.NoError(t, json.Unmarshal(text, &r))
	require.Len(t, r.Cells, 2)
	assert.Contains(t, []string{pass, skip}, r.Cells[0].Verdict, "skip on a loaded machine")
	assert.Len(t, r.Cells[0].Trials[1].Runs, 2)
	assert.Contains(t, []int{cli.OK, cli.Failed},
		run(t.Context(), []string{"--bin", bin, "--rounds", "1", "--only", "^quiet/swift$"}, &out,
			&errs))
	assert.Equal(t, cli.Misuse, run(t.Context(), []string{"--only", "nothing"}, &out, &errs))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.Signal{Signal: syscall.SIGINT})
	assert.Equal(t, 128+int(syscall.SIGINT), run(ctx, []string{"--bin", bin}, &out, &errs))
}

func TestOneCPU(t *testing.T) {
	b := testBench(t, programOf(t, writeResult))
	b.cpus = b.cpus[:1]
	cells, err := choose(table(), nil)
	require.NoError(t, err)
	r, err := b.judge(t.Context(), cells[0])
	require.NoError(t, err)
	assert.Equal(t, skip, r.Verdict)
	assert.Equal(t, []string{"needs 2 CPUs, 1 available"}, r.Notes)
}
