package perftest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/units"
)

// Two flows under different controls, watched for a second and a half.
func TestWatch(t *testing.T) {
	file, document := filepath.Join(t.TempDir(), "watch.jsonl"), filepath.Join(t.TempDir(),
		"document.json")
	var out, errs bytes.Buffer
	code := Run(t.Context(), writeBW, strings.Fields("-d loop: -s 4096 -q 2 -D 1.5 -f 0 --cc "+
		"swift --cc fixed:window=64KiB --watch --watch_json "+file+" --out_json_file "+document),
		&out, &errs)
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
	require.Zero(t, len(seen)%2, "two flows at a time") // more than once on a slow machine
	require.Equal(t, []string{"swift", "fixed"}, []string{seen[0].Algorithm, seen[1].Algorithm})
	require.Positive(t, seen[0].Target)
	require.Positive(t, seen[0].Delay)
	require.EqualValues(t, 64<<10, seen[1].Window)
	require.Positive(t, seen[1].Goodput)
	for _, g := range seen {
		require.GreaterOrEqual(t, g.Own, 0.0)
		require.LessOrEqual(t, g.Own, 1.0)
	}
	require.Contains(t, string(b), `"own_poll_gaps":`)
	require.Contains(t, string(b), `"longest_gap_us":`)
	b, err = os.ReadFile(document)
	require.NoError(t, err)
	require.Regexp(t,
		`"own_poll_gaps": [01].*\n +"peer_poll_gaps": [01].*\n +"longest_gap_us": [0-9.]+,`,
		string(b))
}

func TestPollGaps(t *testing.T) {
	for says, g := range map[string]PollGaps{
		"": {0.049, 0.01, 9000},
		"limited by own poll gaps: 83 % (longest 4.1 ms)": {0.83, 0,
			4100},
		"limited by own poll gaps: 5 % (longest 70 us), by the peer's poll gaps: 31 %": {0.05, 0.31,
			70},
		"limited by the peer's poll gaps: 100 %": {0.04, 1,
			4100},
	} {
		require.Equal(t, says, g.String())
	}
	require.Empty(t, limits([]PollGaps{{}}))
	require.Equal(t, "          limited by own poll gaps: 50 % (longest 1.0 ms)\n",
		limits([]PollGaps{{Own: 0.5, Longest: 1000}}))
	require.Equal(t, "          endpoint 1: limited by the peer's poll gaps: 50 %\n",
		limits([]PollGaps{{}, {Peer: 0.5}}))
	require.Equal(t, PollGaps{0.1, 0.8, 7}, PollGaps{0.8, 0.1, 5}.seenFrom(PollGaps{0, 0, 7}))
}

func TestPollGapsSinceTheLastLine(t *testing.T) {
	begun := time.Now()
	before := polled{at: begun, stalled: 10 * units.Millisecond, peerAway: units.Millisecond}
	now := polled{at: begun.Add(100 * time.Millisecond), stalled: 93 * units.Millisecond,
		peerAway: 11 * units.Millisecond, longest: 4100 * units.Microsecond}
	require.Equal(t, PollGaps{0.83, 0.1, 4100}, now.since(before))
	require.Zero(t, now.since(now))
	now.stalled = units.Second
	require.Equal(t, 1.0, now.since(before).Own)
}

func TestAlgorithmsAreExplained(t *testing.T) {
	for arg, says := range map[string]string{"help": "dcqcn", "help=swift": "base_target"} {
		var out, errs bytes.Buffer
		require.Zero(t, Run(t.Context(), writeBW, []string{"--cc", arg}, &out, &errs))
		require.Contains(t, out.String(), says)
	}
	var out, errs bytes.Buffer
	require.Equal(t, cli.Misuse, Run(t.Context(), writeBW, []string{"--cc", "help=quick"}, &out,
		&errs))
	require.Contains(t, errs.String(), `unknown algorithm "quick"`)
}

func TestChannelsAreExplained(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t,
		Run(t.Context(), writeBW, strings.Fields("--channels n=12 --channels help --base-rtt 12us"),
			&out, &errs), errs.String())
	require.Contains(t, out.String(), "PrioPlus 4.3.2")
	require.Regexp(t, `(?m)^11 +high +60us +62.4us +600000B`, out.String())
	require.Regexp(t, `(?m)^0 +low +16us +18.4us`, out.String())
}

// Algorithms that need signals which the path lacks are refused before anything is sent.
func TestControlThatThePathCannotFeed(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, cli.Failed, Run(t.Context(), writeBW, strings.Fields("-d loop: --cc hpcc"),
		&out, &errs))
	require.Contains(t, errs.String(), "--cc hpcc: hpcc needs INT")
}

// Flows with virtual priorities stop, probe and resume on a port.
func TestVirtualPriorities(t *testing.T) {
	file := filepath.Join(t.TempDir(), "watch.jsonl")
	var out, errs bytes.Buffer
	code := Run(t.Context(), writeBW, strings.Fields("-d loop: -s 4096 -q 2 -D 1.5 -f 0 --cc "+
		"swift --prio 7,0 --base-rtt 200us --watch --watch_json "+file), &out, &errs)
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
