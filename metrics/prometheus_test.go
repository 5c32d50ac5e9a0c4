package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// needs skips a test where a program of Debian's prometheus package is missing.
func needs(t *testing.T, program string) {
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed; scripts/setup monitoring installs it", program)
	}
}

// promtool runs promtool in deploy/prometheus.
func promtool(t *testing.T, stdin string, args ...string) {
	cmd := exec.Command("promtool", args...)
	cmd.Dir, cmd.Stdin = "../deploy/prometheus", strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %v:\n%s", args, out)
}

func TestRules(t *testing.T) {
	needs(t, "promtool")
	promtool(t, "", "check", "config", "prometheus.yml")
	promtool(t, "", "check", "rules", "rules.yaml")
	promtool(t, "", "test", "rules", "rules_test.yaml")
	text, err := os.ReadFile("../deploy/prometheus/rules.yaml")
	require.NoError(t, err)
	checkNames(t, string(text))
	tests, err := os.ReadFile("../deploy/prometheus/rules_test.yaml")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(text), -1) {
		assert.Regexp(t, `alertname: `+m[1]+`\n\s+exp_alerts:`, string(tests), "fires in a test")
		assert.Contains(t, string(tests), "alertname: "+m[1]+"}", "is silent in a test")
	}
}

var metricName = regexp.MustCompile(`\bgoroce_\w+`)

// checkNames checks that each metric that a text names exists.
func checkNames(t *testing.T, text string) {
	for _, name := range metricName.FindAllString(text, -1) {
		assert.True(t, slices.ContainsFunc(families, func(f *family) bool {
			return f.name == name || f.histogram && slices.Contains([]string{f.name + "_bucket",
				f.name + "_sum", f.name + "_count"}, name)
		}), "there is no metric %s", name)
	}
}

// dashboard is the part of a Grafana dashboard that the test reads.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

// server is a running Prometheus.
type server struct {
	t    *testing.T
	base string
}

// startPrometheus starts a Prometheus that scrapes target with the rules of deploy.
func startPrometheus(t *testing.T, target string) server {
	dir := t.TempDir()
	rules, err := filepath.Abs("../deploy/prometheus/rules.yaml")
	require.NoError(t, err)
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
global: {scrape_interval: 200ms, evaluation_interval: 200ms}
rule_files: [%s]
scrape_configs: [{job_name: goroce, static_configs: [{targets: [%q]}]}]
`, rules, target), 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	var log bytes.Buffer
	cmd := exec.Command("prometheus", "--config.file", config, "--storage.tsdb.path",
		filepath.Join(dir, "data"), "--web.listen-address", address)
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus:\n%s", log.String())
		}
	})
	return server{t, "http://" + address}
}

// call returns the data of an API call, and nil while the server is not ready.
func (s server) call(path string, values url.Values) json.RawMessage {
	reply, err := http.Get(s.base + path + "?" + values.Encode())
	if err != nil || reply.StatusCode == http.StatusServiceUnavailable {
		return nil
	}
	defer reply.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	require.NoError(s.t, json.NewDecoder(reply.Body).Decode(&answer))
	require.Equal(s.t, "success", answer.Status, "%v: %s", values, answer.Error)
	return answer.Data
}

// query returns the number of series of an expression's result.
func (s server) query(expr string) int {
	var result struct{ Result []json.RawMessage }
	if data := s.call("/api/v1/query", url.Values{"query": {expr}}); data != nil {
		require.NoError(s.t, json.Unmarshal(data, &result))
	}
	return len(result.Result)
}

// quiet are the panels that are empty where nothing is dropped, or that show what these hosts do
// not have.
var quiet = []string{"Drops of ports", "Drops of endpoints", "Cuts", "Virtual priorities"}

// TestPrometheus scrapes two hosts with a real Prometheus, which evaluates every panel of the
// dashboard and loads the rules.
func TestPrometheus(t *testing.T) {
	needs(t, "prometheus")
	c := connect(t, "soft")
	m, err := Listen("127.0.0.1:0", Options{})
	require.NoError(t, err)
	defer m.Close()
	m.Add(c.client)
	m.Add(c.server)
	s := startPrometheus(t, m.Addr().String())
	require.Eventually(t, func() bool {
		c.exchange(t, 10)
		return s.query("count_over_time(goroce_port_info[5s]) > 3") == 2
	}, 30*time.Second, 50*time.Millisecond)

	_, text := get(t, m, "/metrics")
	promtool(t, text, "check", "metrics")
	var rules struct {
		Groups []struct{ Rules []struct{ Health string } }
	}
	require.NoError(t, json.Unmarshal(s.call("/api/v1/rules", nil), &rules))
	require.Len(t, rules.Groups, 1)
	for _, r := range rules.Groups[0].Rules {
		assert.NotEqual(t, "err", r.Health)
	}

	file, err := os.ReadFile("../deploy/grafana/goroce.json")
	require.NoError(t, err)
	checkNames(t, string(file))
	var d dashboard
	require.NoError(t, json.Unmarshal(file, &d))
	fill := strings.NewReplacer("$instance", ".*", "$port", ".*", "$__rate_interval", "10s")
	for _, p := range d.Panels {
		series := 0
		for _, target := range p.Targets {
			series += s.query(fill.Replace(target.Expr))
		}
		if len(p.Targets) > 0 && !slices.Contains(quiet, p.Title) {
			assert.Positive(t, series, "panel %q is empty", p.Title)
		}
	}
}
