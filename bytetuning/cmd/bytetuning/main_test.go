package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/race"
)

func do(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	p := &program{&o, &e}
	code = p.run(t.Context(), args...)
	return code, o.String(), e.String()
}

const cases = "../../../testdata/"

// TestTune covers a search, its report, and the rendering of its best watermarks.
func TestTune(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bt")
	tune := []string{"tune", "--target", "fluid:8x40G", "--out", dir, "--compare", "hpcc,dctcp",
		"--budget"}
	code, out, errs := do(t, append(tune, "20")...)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "budget spent after 20 measurements")
	assert.Contains(t, out, filepath.Join(dir, "report.html"))
	assert.Contains(t, errs, "[1] best: 35.91 Gb/s, queue 290 cells: "+
		"[5000B/200000B/1% headroom 22400B alpha 8]")

	code, out, errs = do(t, append(tune, "40")...)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "budget spent after 40 measurements")
	log, err := os.ReadFile(filepath.Join(dir, "log.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, 41, strings.Count(string(log), "\n"), "resumed, not restarted")

	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	assert.Regexp(t, `\nchange     tor Kmin: \S+ to \S+\n`, out)
	assert.Regexp(t, `\ngain       throughput [+-][0-9.]+ %, queue [+-][0-9.]+ %\n`, out)
	for _, want := range []string{"Watermarks for fluid:8x40G", "<svg", "hpcc",
		"From start to best", "qos wred queue table bytetuning_tor", "<p>throughput ",
		"not measured: bytetuning: tor: Kmax", "<td>start<"} {
		assert.Contains(t, string(page), want)
	}
	for _, file := range []string{"best.yaml", "start.yaml"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		intents, err := intent.Parse(text)
		require.NoError(t, err)
		_, err = intents[0].Validate()
		require.NoError(t, err, file)
	}
	code, out, errs = do(t, "render", "--dialect", "nvue", "--interfaces", "swp1",
		filepath.Join(dir, "best.yaml"))
	require.Zero(t, code, errs)
	assert.Contains(t, out, "nv set interface swp1 qos congestion-control profile bytetuning_tor\n")
	assert.Contains(t, errs, "tor: in effect: ")

	code, _, errs = do(t, "tune", "--target", "fluid:8x40G", "--out", dir, "--seed", "2")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, errs, "its seed is 1, want 2")
}

func TestDryRun(t *testing.T) {
	code, out, errs := do(t, "tune", "--target", "fabric:2to1/layers", "--dry-run")
	require.Zero(t, code, errs)
	assert.Contains(t, out,
		"tor: 3300 watermarks; now 250KiB/500KiB/20% headroom 75KiB alpha 1/8, XOFF ")
	assert.Contains(t, out, "fabric:2to1/layers: 1.089e+07 points, budget 200")
	assert.True(t, strings.HasSuffix(out, "nothing was applied\n"))
}

// TestTelemetry checks that a search with telemetry reports its overhead.
func TestTelemetry(t *testing.T) {
	race.OneGoroutine(t)
	dir := t.TempDir()
	code, out, errs := do(t, "tune", "--target", "fabric:2to1", "--telemetry", "int", "--budget",
		"1", "--out", dir)
	require.Zero(t, code, errs)
	assert.Regexp(t, `telemetry  int uses [0-9.]+Mb/s of the network `+
		`at a throughput of 2[0-9.]+Gb/s\n`, out)
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "Telemetry: int uses")
	_, _, errs = do(t, "tune", "--target", "fabric:2to1", "--telemetry", "int", "--aggregate",
		"p99", "--budget", "1", "--out", dir)
	assert.Contains(t, errs,
		"is the log of another search: its target is fabric:2to1 int, want fabric:2to1 int p99")
	code, _, errs = do(t, "tune", "--target", "fabric:multihost", "--telemetry", "int", "--out",
		dir)
	assert.Equal(t, cli.Misuse, code)
	assert.Contains(t, errs, "other than fabric:multihost")
}

// TestLive checks that --dry-run changes no switch, and that unreachable switches are an error.
func TestLive(t *testing.T) {
	fleet := []string{"tune", "--target", "live:testdata/fleet.yaml", "--start",
		cases + "good.yaml", "--out", t.TempDir()}
	code, out, errs := do(t, append(fleet, "--dry-run")...)
	require.Zero(t, code, errs)
	assert.Contains(t, out,
		"leaf: 3300 watermarks; now 200000B/400000B/20% headroom 35KiB alpha 1/8")
	assert.Contains(t, out, "nothing was applied\n")
	code, _, errs = do(t, append(fleet, "--apply")...)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, errs, "could not be saved, and nothing was changed")
	code, out, _ = do(t, append(fleet, "--rollback", "--apply", "--dry-run")...)
	assert.Zero(t, code)
	assert.Contains(t, out, "would restore the configurations")
	code, _, errs = do(t, append(fleet, "--rollback", "--apply")...)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, errs, "leaf1.saved: no such file")
}

func TestSpace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "space.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o644)) }
	write("{kmin: [0B, 10KB, 20KB], gap: [50KB], pmax: [1%, 10%], headroom: [100KiB], alpha: " +
		"[1/8, 1/4]}")
	for _, target := range []string{"fluid:8x40G", "fabric:2to1", "fabric:multihost"} {
		code, out, errs := do(t, "tune", "--target", target, "--space", file, "--dry-run")
		require.Zero(t, code, errs)
		assert.Contains(t, out, ": 12 watermarks; now")
	}
	code, out, errs := do(t, "tune", "--target", "fluid:8x40G", "--space", file, "--out",
		t.TempDir(), "--budget", "0", "--tuner", "grid")
	require.Zero(t, code, errs)
	assert.Contains(t, out, "search complete after 13 measurements")
	write("{kmin: [20KB, 10KB], gap: [50KB], pmax: [1%], headroom: [100KiB], alpha: [1/8]}")
	code, _, errs = do(t, "tune", "--target", "fluid:8x40G", "--space", file, "--dry-run")
	assert.Equal(t, cli.Misuse, code)
	assert.Contains(t, errs, "the range of Kmin has 10000B after 20000B: want ascending values")
}

func TestStartFromAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "now.yaml")
	text := "layers: [{name: tor, kmin: 5KB, kmax: 100KB, pmax: 5%, headroom: 20KB, alpha: 1, " +
		"priority: 4, queue: 2, interfaces: [swp7]}]\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	dir := t.TempDir()
	code, _, errs := do(t, "tune", "--target", "fluid:4x40G", "--start", file, "--budget", "3",
		"--out", dir)
	require.Zero(t, code, errs)
	best, err := readIntents(filepath.Join(dir, "best.yaml"))
	require.NoError(t, err)
	assert.Equal(t, 4, best[0].Priority)
	assert.Equal(t, []string{"swp7"}, best[0].Interfaces)

	code, _, errs = do(t, "tune", "--target", "fabric:2to1", "--start", file, "--budget", "3",
		"--out", dir)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, errs, `missing layer "all" of the target`)
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var o, e bytes.Buffer
	p := &program{&o, &e}
	assert.Equal(t, cli.OK, p.run(ctx, "tune", "--target", "fluid:2x40G", "--out", t.TempDir()))
	assert.Empty(t, o.String())
	assert.Equal(t, "interrupted before the first measurement\n", e.String())
}

func TestCheck(t *testing.T) {
	for file, want := range map[string]string{"case1": "case I: ", "case2": "case II: ",
		"case3": "case III: "} {
		code, out, errs := do(t, "check", cases+file+".yaml")
		assert.Equal(t, cli.Failed, code, file)
		assert.Contains(t, out, want)
		assert.Equal(t, "bytetuning: findings: 1\n", errs)
	}
	code, out, _ := do(t, "check", cases+"good.yaml")
	assert.Zero(t, code)
	assert.Equal(t, "no findings\n", out)

	code, out, _ = do(t, "check", "../../dialect/testdata/config_db.json")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, out, "AZURE_LOSSLESS: case I")
	assert.Contains(t, out, "unknown: AZURE_LOSSLESS: TCP in the same buffer")
}

func TestRender(t *testing.T) {
	code, out, errs := do(t, "render", "--dialect", "h3c", cases+"good.yaml")
	require.Zero(t, code, errs)
	assert.Contains(t, out,
		"queue 3 drop-level 0 low-limit 782 high-limit 1563 discard-probability 20\n")
	code, out, errs = do(t, "render", "--dialect", "h3c", "--undo", cases+"good.yaml")
	require.Zero(t, code, errs)
	assert.Contains(t, out, "undo qos wred queue table bytetuning_leaf\n")
	code, _, errs = do(t, "render", "--dialect", "sonic", "--undo", cases+"good.yaml")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, errs, "has no undo")
	code, _, errs = do(t, "render", "--dialect", "sonic", cases+"case1.yaml")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, errs, "PFC would act before ECN (case I)")

	dir := t.TempDir()
	code, out, errs = do(t, "render", "--dialect", "eos", "--out", dir,
		"../../dialect/testdata/config_db.json")
	assert.Equal(t, cli.Failed, code, "the configuration of the switch is case I")
	assert.Empty(t, out)
	assert.Contains(t, errs, "case I")
	code, _, errs = do(t, "render", "--dialect", "eos", "--layer", "spine", cases+"good.yaml")
	assert.Equal(t, cli.Misuse, code)
	assert.Contains(t, errs, `no layer "spine"`)
}

func TestFluid(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := do(t, "fluid", "--kpfc", "800KB", "--horizon", "20ms", "--out", dir)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "q* 13.88 packets\n")
	assert.Contains(t, out, "unstable: disturbances grow at 2254/s")
	for _, file := range []string{"fluid-rate.svg", "fluid-queues.svg", "fluid-lost.svg"} {
		assert.FileExists(t, filepath.Join(dir, file))
	}
	_, out, _ = do(t, "fluid", "--flows", "32", "--start", "1.25G", "--pmax", "0.01", "--kpfc", "0",
		"--horizon", "5ms")
	assert.Contains(t, out, "none below Kmax")
	_, out, _ = do(t, "fluid", "--delay", "4us", "--kpfc", "0", "--start", "5G", "--horizon", "5ms")
	assert.Contains(t, out, "stable: disturbances decay at 94/s")
}

func TestUsageErrors(t *testing.T) {
	for want, line := range map[string]string{
		"tune: want --target":           "tune",
		"tune: want --target and --out": "tune --target fluid:8x40G",
		`unknown target "lab"`:          "tune --target lab --out x",
		`fluid scene "8"`:               "tune --target fluid:8 --out x",
		`scene: no "4to1"`:              "tune --target fabric:4to1 --out x",
		`unknown tuner "bayes"`:         "tune --target fluid:8x40G --out x --tuner bayes",
		"budget -1":                     "tune --target fluid:8x40G --out x --budget -1",
		"beta 2":                        "tune --target fluid:8x40G --out x --beta 2",
		"gamma 0":                       "tune --target fluid:8x40G --out x --fair --gamma 0",
		"want --apply to change them":   "tune --target live:testdata/fleet.yaml --out x",
		"want --start FILE":             "tune --target live:testdata/fleet.yaml --out x --apply",
		"not real switches": "tune --target live:testdata/fleet.yaml --out x --apply " +
			"--unchecked",
		"--rollback: want real":      "tune --target fluid:8x40G --out x --rollback",
		"live: fleet: ":              "tune --target live:main.go --out x --apply",
		"no such file":               "tune --target live:nowhere.yaml --out x --apply",
		"--telemetry: want a fabric": "tune --target fluid:8x40G --out x --telemetry int",
		`unknown source "gossip"`:    "tune --target fabric:2to1 --out x --telemetry gossip",
		`unknown aggregation "median"`: "tune --target fabric:2to1 --out x --telemetry int " +
			"--aggregate median",
		"unknown flag: --fast":             "tune --fast",
		"requires at least 1 arg":          "check",
		"accepts 1 arg(s)":                 "render",
		`dialect: unknown dialect "junos"`: "render --dialect junos " + cases + "good.yaml",
		"Pmax 7":                           "fluid --pmax 7",
		`size "much"`:                      "fluid --kmin much",
		`unknown command "guess"`:          "guess",
	} {
		code, out, errs := do(t, strings.Fields(line)...)
		assert.Equal(t, cli.Misuse, code, line)
		assert.Empty(t, out, line)
		assert.Contains(t, errs, want)
	}
	code, _, errs := do(t, "check", "nowhere.yaml")
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, errs, "nowhere.yaml: no such file")
	code, out, _ := do(t)
	assert.Zero(t, code)
	assert.Contains(t, out, "Usage:")
}
