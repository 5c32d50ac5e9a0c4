package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlags(t *testing.T) {
	twoCPUs(t)
	allowed, err := allowedCPUs()
	require.NoError(t, err)
	cpus := fmt.Sprintf("%d,%d", allowed[0], allowed[1])
	s, err := parse([]string{"--quick", "--only", "^busy/", "--cpus", cpus, "-v"})
	require.NoError(t, err)
	assert.Equal(t, quickRounds, s.rounds)
	assert.Equal(t, allowed[:2], s.cpus)
	assert.Less(t, s.deadline, 20*time.Second)
	assert.True(t, s.only.MatchString("busy/swift"))
	s, err = parse([]string{"--quick", "--rounds", "9"})
	require.NoError(t, err)
	assert.Equal(t, 9, s.rounds)
	for args, want := range map[string]string{
		"--only (":       "--only: error parsing regexp",
		"--rounds 0":     "want at least 1",
		"--rounds few":   "invalid argument",
		"--deadline 1ms": "want at least 1s",
		"--cpus 1":       "want two different CPUs",
		"--cpus 1,1":     "want two different CPUs",
		"--cpus -1,0":    "want two of the CPUs",
		"--bin /none":    "want the directory of roce_write_bw",
		"--json /none/x": "no such file or directory",
		"--json=":        "want the name of a file",
		"--frobnicate":   "unknown flag: --frobnicate",
	} {
		_, err := parse(strings.Fields(args))
		assert.ErrorContains(t, err, want, args)
	}
}

func TestDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"test_info": {}, "results": [
		{"MsgSize": 65536, "BW_average": 2584.3, "MsgRate": 0.041,
		"percentiles": {"p50": 2.5},
		"per_qp": [{"n_iterations": 2932, "BW_average": 366}, {"n_iterations": 311}]}]}`), 0o644))
	d, err := read(file)
	require.NoError(t, err)
	for f, want := range map[*figure]float64{&goodput: 2584.3, &messages: 0.041, &latency: 2.5,
		&firstShare: 2932.0 / 3243} {
		got, err := f.take(d)
		assert.NoError(t, err)
		assert.InDelta(t, want, got, 1e-9)
	}

	for text, want := range map[string]string{
		`{`:               "JSON document",
		`{"results": []}`: "results of 0 message sizes, want 1",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		_, err = read(file)
		assert.ErrorContains(t, err, want)
	}
	require.NoError(t, os.WriteFile(file, []byte(`{"results": [{}]}`), 0o644))
	d, err = read(file)
	require.NoError(t, err)
	for _, f := range []figure{goodput, messages, latency, firstShare} {
		_, err := f.take(d)
		assert.ErrorContains(t, err, "JSON document")
	}
}

func TestControllers(t *testing.T) {
	found := controllers(strings.NewReader(
		`31 24 0:27 / /sys/fs/cgroup rw,relatime shared:1 - tmpfs tmpfs rw,mode=755
32 31 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
33 31 0:29 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
34 31 0:30 / /sys/fs/cgroup/unified rw,relatime shared:2 master:3 - cgroup2 cgroup2 rw
not a mount
`), strings.NewReader("7:cpu,cpuacct:/user\n3:cpuset:/\n0::/system/x\n"))
	assert.Equal(t, []controller{
		{false, "/sys/fs/cgroup/cpu", "/user"},
		{true, "/sys/fs/cgroup/unified", "/system/x"},
	}, found)
}

func TestVersion2Group(t *testing.T) {
	parent := t.TempDir() // regular files: records writes and errors
	c := controller{v2: true}
	_, err := c.group(parent)
	assert.ErrorIs(t, err, os.ErrNotExist)
	for file, text := range map[string]string{"cgroup.controllers": "memory pids\n",
		"cgroup.subtree_control": "\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(parent, file), []byte(text), 0o644))
	}
	_, err = c.group(parent)
	assert.ErrorContains(t, err, "has no CPU controller")
	require.NoError(t, os.WriteFile(filepath.Join(parent, "cgroup.controllers"),
		[]byte("cpu memory\n"), 0o644))
	_, err = c.group(parent)
	assert.ErrorContains(t, err, "cpu.max", "an ordinary directory has none")
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	assert.Len(t, entries, 2, "the group is removed again")
	text, err := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control"))
	require.NoError(t, err)
	assert.Equal(t, "-cpu", string(text), "and so is the delegation")
}

func TestLoad(t *testing.T) {
	before := parseStat("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n")
	after := parseStat("cpu  150 10 120 860 40 10 10 100 0 0\n")
	assert.Equal(t, 3*time.Second, after.total-before.total)
	assert.Equal(t, time.Second, after.used-before.used)
	assert.InDelta(t, 1.0/3, after.steal(before), 1e-9)
	assert.InDelta(t, 1.0/3, after.others(before), 1e-9)
	after.own = 400 * time.Millisecond
	assert.InDelta(t, 0.2, after.others(before), 1e-9)
	after.own = time.Hour
	assert.Zero(t, after.others(before), "ticks are coarse")
	assert.Zero(t, parseStat("nothing"))
	assert.Zero(t, cpuSample{}.others(cpuSample{}))
}

func TestEntering(t *testing.T) {
	assert.Equal(t, "within --cpus 0,1 --cgroup /g -- prog --cpus 3",
		strings.Join(entering([]int{0, 1}, "/g", []string{"prog", "--cpus", "3"}), " "))
	assert.Equal(t, "within -- prog", strings.Join(entering(nil, "", []string{"prog"}), " "))
}
