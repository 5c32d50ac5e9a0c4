package page

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/trace/analysis"
	"github.com/goroce/goroce/units"
)

// report returns a report of two queue pairs, one of which has losses.
func report() *analysis.Report {
	r := analysis.New("<b>.pcap", analysis.Capture)
	for i := range units.Time(1000) {
		at := units.Time(units.Second) + i*units.Time(units.Microsecond)
		r.Item(at)
		good, bad := r.Flow("good 0x11", "", "", at), r.Flow("bad 0x22", "", "", at)
		good.Sequence.Add(at, good.Relative(uint32(i)))
		good.Deliver(at, 1000)
		bad.Sequence.Add(at, bad.Relative(uint32(i)))
		bad.AddRTT(at, units.Microsecond)
		if i%100 == 0 {
			bad.Lost++
			bad.Missing.Add(at, float64(i))
		}
		bad.Limits["window"] += units.Microsecond
	}
	r.Note("a <note>")
	r.Sort()
	return r
}

func TestPage(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Write(&b, report()))
	for _, want := range []string{"&lt;b&gt;.pcap", "a &lt;note&gt;", "good 0x11", "window 100%",
		"Chart.js"} {
		require.Contains(t, b.String(), want)
	}
	for _, not := range []string{"<b>.pcap", "src=", "href=", "ZgotmplZ"} {
		require.NotContains(t, b.String(), not)
	}
}

// TestBrowser: in a browser the filter selects queue pairs, and charts are drawn without an error.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium in PATH; make lab-browser installs it")
	}
	name := filepath.Join(t.TempDir(), "x.html")
	file, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, Write(file, report()))
	require.NoError(t, file.Close())
	for query, want := range map[string][]string{
		"":          {"2 of 2 queue pairs", "Queue pair good"},
		"text=0x22": {"1 of 2 queue pairs", "Queue pair bad", "window 100.0%"},
		"trouble=1": {"1 of 2 queue pairs", "Queue pair bad"},
		"text=none": {"0 of 2 queue pairs"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		c := exec.CommandContext(ctx, chromium, "--headless=new", "--no-sandbox", "--disable-gpu",
			"--user-data-dir="+t.TempDir(), "--enable-logging=stderr",
			"--virtual-time-budget=3000", "--dump-dom", "file://"+name+"?"+query)
		var log strings.Builder
		c.Stderr = &log
		dom, err := c.Output()
		cancel()
		require.NoError(t, err, log.String())
		for _, text := range want {
			require.Contains(t, string(dom), text, query)
		}
		require.NotContains(t, log.String(), "CONSOLE")
	}
}
