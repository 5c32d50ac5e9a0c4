package perftest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// With credits a slow receiver's unconsumed messages fit into the cache, without them they do not.
// The document has both, and the sender's waiting time.
func TestCreditsBoundTheBacklog(t *testing.T) {
	backlog := func(flags string) (*WorkRow, *Row) {
		o := do(t, sendBW,
			strings.Fields("-n 4000 -s 4096 -r 1000 --work 20us --out_json_file=- "+flags)...)
		require.Zero(t, o.code, o.errors)
		doc := parseDocument(t, o.out)
		r := doc.Results[0]
		require.NotNil(t, r.Work)
		require.Positive(t, r.Work.Sojourn.P50)
		require.Positive(t, r.Work.Reading)
		return r.Work, r
	}
	bounded, row := backlog("--carc llc=256KiB,delta=off")
	require.LessOrEqual(t, bounded.Unconsumed.Max, int64(257<<10), "the histogram has three digits")
	require.NotZero(t, row.Blocked)
	require.NotZero(t, row.BlockedNS)
	require.NotZero(t, row.Credits+row.CreditsOnAcks)
	require.Zero(t, row.RNRNaks)
	free, row := backlog("")
	require.Greater(t, free.Unconsumed.Max, int64(1<<20))
	require.Zero(t, row.Blocked)
}

func TestCreditsHelp(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, Run(t.Context(), sendBW, []string{"--carc", "help"}, &out, &errs))
	for _, what := range []string{"llc", "mode", "oneway, rr", "CARC 4"} {
		require.Contains(t, out.String(), what)
	}
}
