package report

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/labtest"
	"github.com/goroce/goroce/lab/runner"
)

// TestBrowser: in a browser the filter selects claims, and figures in view are drawn from their
// data, without an error.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes ten seconds")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium in PATH; make lab-browser installs it and runs this test")
	}
	page, err := lab(t, labtest.Dice).Gather(runExperiment(t, labtest.Dice, runner.Shard{}))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, page.Write(dir))
	for query, want := range map[string][]string{
		"":                                  {"3 of 3 claims</output>", "<canvas", "the SVG<"},
		"verdict=fails&text=six&paper=demo": {"1 of 3 claims</output>", "<canvas"},
		"confidence=medium&verdict=holds":   {"0 of 3 claims</output>"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		c := exec.CommandContext(ctx, chromium, "--headless=new", "--no-sandbox", "--disable-gpu",
			"--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--window-size=1200,4000",
			"--virtual-time-budget=5000",
			"--dump-dom", "file://"+dir+"/index.html?"+query)
		var log strings.Builder
		c.Stderr = &log
		dom, err := c.Output()
		cancel()
		require.NoError(t, err, log.String())
		for _, text := range want {
			assert.True(t, strings.Contains(string(dom), text), "%s: no %s", query, text)
		}
		assert.Equal(t, len(want) > 1, strings.Contains(string(dom), "<canvas"), query)
		assert.NotContains(t, log.String(), "CONSOLE")
	}
}
