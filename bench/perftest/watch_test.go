package perftest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two flows under different controls, watched for a second and a half.
func TestWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "watch.jsonl")
	var out, errs bytes.Buffer
	code := Run(t.Context(), writeBW, strings.Fields("-d loop: -s 4096 -q 2 -D 1.5 -f 0 --cc swift --cc fixed:window=64KiB --watch --watch_json "+file), &out, &errs)
	require.Zero(t, code, errs.String())
	require.Contains(t, errs.String(), "elapsed")
	require.Regexp(t, `1s +0x[0-9a-f]+ swift`, errs.String())
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var seen []Glance
	for line := range strings.Lines(string(b)) {
		var g Glance
		require.NoError(t, json.Unmarshal([]byte(line), &g), line)
		seen = append(seen, g)
	}
	require.NotEmpty(t, seen)
	require.Zero(t, len(seen)%2, "two flows at a time") // a second time where the machine is slow
	require.Equal(t, []string{"swift", "fixed"}, []string{seen[0].Algorithm, seen[1].Algorithm})
	require.Positive(t, seen[0].Target)
	require.Positive(t, seen[0].Delay)
	require.EqualValues(t, 64<<10, seen[1].Window)
	require.Positive(t, seen[1].Goodput)
}

func TestAlgorithmsAreExplained(t *testing.T) {
	for arg, says := range map[string]string{"help": "dcqcn", "help=swift": "base_target"} {
		var out, errs bytes.Buffer
		require.Zero(t, Run(t.Context(), writeBW, []string{"--cc", arg}, &out, &errs))
		require.Contains(t, out.String(), says)
	}
	var out, errs bytes.Buffer
	require.Equal(t, exitFailed, Run(t.Context(), writeBW, []string{"--cc", "help=quick"}, &out, &errs))
	require.Contains(t, errs.String(), `there is no algorithm "quick"`)
}

func TestChannelsAreExplained(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, Run(t.Context(), writeBW, strings.Fields("--channels n=12 --channels help --base-rtt 12us"), &out, &errs), errs.String())
	require.Contains(t, out.String(), "PrioPlus 4.3.2")
	require.Regexp(t, `(?m)^11 +high +60us +62.4us +600000B`, out.String())
	require.Regexp(t, `(?m)^0 +low +16us +18.4us`, out.String())
}

// What the path cannot give is refused before anything is sent.
func TestControlThatThePathCannotFeed(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, exitFailed, Run(t.Context(), writeBW, strings.Fields("-d loop: --cc hpcc"), &out, &errs))
	require.Contains(t, errs.String(), "--cc hpcc: hpcc needs INT")
}

// Flows with virtual priorities go through a port, stop, probe and go on.
func TestVirtualPriorities(t *testing.T) {
	file := filepath.Join(t.TempDir(), "watch.jsonl")
	var out, errs bytes.Buffer
	code := Run(t.Context(), writeBW, strings.Fields("-d loop: -s 4096 -q 2 -D 1.5 -f 0 --cc swift --prio 7,0 --base-rtt 200us --watch --watch_json "+file), &out, &errs)
	require.Zero(t, code, errs.String())
	require.Regexp(t, `swift/7 .*#flow`, errs.String())
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var priorities []int
	for line := range strings.Lines(string(b)) {
		var g Glance
		require.NoError(t, json.Unmarshal([]byte(line), &g), line)
		require.NotNil(t, g.Channel)
		require.InDelta(t, g.Target+2.4, g.Channel.Limit, 1e-6)
		require.GreaterOrEqual(t, g.Channel.Flows, 1.0)
		priorities = append(priorities, g.Channel.Priority)
	}
	require.Equal(t, []int{7, 0}, priorities[:2])
}
