package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// connection is two hosts with a connection from the first to the second.
type connection struct {
	client, server *goroce.Host
	from, to       *goroce.Conn
}

// connect opens a loop, and a connection under Swift.
func connect(t *testing.T, offload string) (c connection) {
	path := cc.Path{LineRate: 100 * units.Gbps, BaseRTT: 20 * units.Microsecond, Payload: 4096,
		Signals: cc.SignalDelay}
	spec, err := cc.Parse("swift")
	require.NoError(t, err)
	o := goroce.Options{Offload: offload, NewAlgorithm: func() cc.Algorithm {
		a, err := spec.New(path)
		require.NoError(t, err)
		return a
	}}
	url := "loop:" + t.Name()
	c.server, err = goroce.Open(url, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.server.Close() })
	c.client, err = goroce.Open(url, o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.client.Close() })

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	l, err := c.server.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan error, 1)
	go func() {
		var err error
		c.to, err = l.Accept(ctx)
		accepted <- err
	}()
	c.from, err = c.client.Dial(ctx, l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, <-accepted)
	return c
}

// exchange sends messages over the connection.
func (c connection) exchange(t *testing.T, messages int) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	buf := make([]byte, goroce.MaxMessage)
	for range messages {
		require.NoError(t, c.from.Send(ctx, make([]byte, 1000)))
		_, err := c.to.Recv(ctx, buf)
		require.NoError(t, err)
	}
}

// gather collects the metrics, which must be consistent and follow Prometheus' conventions.
func gather(t *testing.T, c *Collector) map[string]*dto.MetricFamily {
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	all, err := registry.Gather()
	require.NoError(t, err)
	problems, err := promlint.NewWithMetricFamilies(all).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	by := map[string]*dto.MetricFamily{}
	for _, f := range all {
		by[f.GetName()] = f
	}
	return by
}

// sum returns the sum of the series that have the label values, as in `qp="other"`.
func sum(f *dto.MetricFamily, labels ...string) (total float64) {
	for _, m := range f.GetMetric() {
		var have []string
		for _, l := range m.GetLabel() {
			have = append(have, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
		}
		all := true
		for _, want := range labels {
			all = all && strings.Contains(strings.Join(have, ","), want)
		}
		if all {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() +
				float64(m.GetHistogram().GetSampleCount())
		}
	}
	return total
}

func TestCollector(t *testing.T) {
	c := connect(t, "")
	c.exchange(t, 100)
	m := NewCollector(Options{})
	m.Add(c.client)
	m.Add(c.server)
	got := gather(t, m)
	port, peer := fmt.Sprintf("port=%q", c.client.Info(0).Name),
		fmt.Sprintf("port=%q", c.server.Info(0).Name)
	assert.EqualValues(t, 1, sum(got["goroce_port_link_up"], port))
	assert.GreaterOrEqual(t, sum(got["goroce_port_sent_frames_total"], port), 100.0)
	assert.GreaterOrEqual(t, sum(got["goroce_queue_pair_sent_bytes_total"], port), 100*1000.0)
	assert.Zero(t, sum(got["goroce_queue_pair_sent_bytes_total"], port, `qp="other"`))
	assert.GreaterOrEqual(t, sum(got["goroce_queue_pair_received_bytes_total"],
		peer), 100*1000.0)
	assert.Positive(t, sum(got["goroce_queue_pair_delay_seconds"], port))
	assert.Positive(t, sum(got["goroce_endpoint_busy_seconds_total"], port))
	assert.EqualValues(t, 1, sum(got["goroce_congestion_queue_pairs"], port,
		`algorithm="swift"`))
	assert.EqualValues(t, 1, sum(got["goroce_congestion_window_bytes"], port,
		`algorithm="swift"`))
	assert.EqualValues(t, 2, sum(gather(t, m)["goroce_congestion_window_bytes"], port),
		"one observation a scrape")

	require.NoError(t, c.client.Close())
	got = gather(t, m)
	assert.Empty(t, got["goroce_port_info"].GetMetric()[1:], "a closed host is left out")
	m.Remove(c.server)
	assert.Empty(t, gather(t, m))
}

func TestCountersOutliveQueuePairs(t *testing.T) {
	c := connect(t, "")
	m := NewCollector(Options{QueuePairs: -1})
	m.Add(c.client)
	c.exchange(t, 50)
	const name = "goroce_queue_pair_sent_bytes_total"
	before := sum(gather(t, m)[name])
	assert.GreaterOrEqual(t, before, 50*1000.0)
	require.NoError(t, c.from.Close())
	_ = c.to.Close()
	got := gather(t, m)
	assert.GreaterOrEqual(t, sum(got[name]), before)
	assert.EqualValues(t, sum(got[name]), sum(got[name], `qp="other"`))
}

func TestOffload(t *testing.T) {
	c := connect(t, "soft")
	c.exchange(t, 50)
	m := NewCollector(Options{})
	m.Add(c.client)
	got := gather(t, m)
	assert.Positive(t, sum(got["goroce_offload_agent_events_total"], `event="messages"`))
	assert.Positive(t, sum(got["goroce_offload_device_events_total"], `event="signals"`))
	assert.Zero(t, sum(got["goroce_offload_in_fallback"]))
}

// The rest grows by what the queue pairs without series of their own do, whichever these are.
func TestRestDoesNotDecrease(t *testing.T) {
	e := newEndpoint(0, 1)
	scrape := func(bytes ...uint64) uint64 {
		s := &endpointSample{queuePairs: newSummary(1)}
		for i, n := range bytes {
			one := transport.QPSample{Num: 0x11 + 1<<i}
			one.BytesSent = n
			s.queuePairs.add(&one)
		}
		e.account(s)
		return s.rest.BytesSent
	}
	assert.EqualValues(t, 10, scrape(100, 10), "the first scrape")
	assert.EqualValues(t, 15, scrape(200, 15))
	assert.EqualValues(t, 300, scrape(200, 300), "another one is the largest")
	assert.EqualValues(t, 301, scrape(201, 400))
	assert.EqualValues(t, 301, scrape(), "all have been destroyed, and are not in the totals")
	assert.EqualValues(t, 1301, scrape(1000, 601), "new ones belong to the rest at first")
}

func TestEveryCounterIsShown(t *testing.T) {
	stats := reflect.TypeFor[transport.Stats]()
	for i := range stats.NumField() {
		f := stats.Field(i)
		if f.Type.Kind() != reflect.Uint64 || f.Name == "BlockedNS" {
			continue
		}
		family, _ := statsField(f.Name)
		assert.NotNil(t, family, "transport.Stats.%s", f.Name)
	}
	for field := range statsFields {
		_, known := stats.FieldByName(field)
		assert.True(t, known, field)
	}
}

func TestSnake(t *testing.T) {
	for field, want := range map[string]string{"NotOurs": "not_ours", "UnknownQP": "unknown_qp",
		"IPHeader": "ip_header", "ICRC": "icrc", "ARPRequestsIn": "arp_requests_in",
		"EchoReplies4": "echo_replies4", "QKey": "q_key"} {
		assert.Equal(t, want, snake(field))
	}
}

// docs/metrics.md has a row for each metric.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	var want strings.Builder
	for _, f := range slices.SortedFunc(slices.Values(families), func(a, b *family) int {
		return strings.Compare(a.name, b.name)
	}) {
		kind := map[prometheus.ValueType]string{prometheus.CounterValue: "counter",
			prometheus.GaugeValue: "gauge"}[f.kind]
		if f.histogram {
			kind = "histogram"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", f.name, kind, strings.Join(f.labels, ", "),
			f.help)
	}
	_, table, _ := strings.Cut(string(text), "|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	assert.Equal(t, want.String(), strings.TrimRight(table, "\n")+"\n",
		"copy this table into docs/metrics.md")
}

func get(t *testing.T, s *Server, path string) (int, string) {
	reply, err := http.Get("http://" + s.Addr().String() + path)
	require.NoError(t, err)
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	return reply.StatusCode, string(body)
}

func TestServer(t *testing.T) {
	c := connect(t, "")
	s, err := Listen("127.0.0.1:0", Options{})
	require.NoError(t, err)
	defer s.Close()
	s.Add(c.client)
	c.exchange(t, 10)
	for path, want := range map[string]string{
		"/": "/debug/goroce", "/metrics": "goroce_queue_pair_sent_bytes_total",
		"/healthz": "ok", "/debug/goroce": "<title>goroce", "/debug/pprof/": "goroutine",
	} {
		code, body := get(t, s, path)
		assert.Equal(t, http.StatusOK, code, path)
		assert.Contains(t, body, want, path)
	}
	_, page := get(t, s, "/debug/goroce")
	assert.NotRegexp(t, regexp.MustCompile(`(src|href)="?(https?:)?//`), page, "self-contained")

	var d debugState
	_, body := get(t, s, "/debug/goroce/state")
	require.NoError(t, json.Unmarshal([]byte(body), &d))
	require.Len(t, d.QueuePairs, 1)
	assert.Equal(t, "swift", d.QueuePairs[0].Algorithm)
	assert.Positive(t, d.QueuePairs[0].Delay)
	assert.Positive(t, d.QueuePairs[0].Window)

	require.NoError(t, c.client.Close())
	code, body := get(t, s, "/healthz")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Contains(t, body, t.Name())
}

// A polling core that does not run is reported, and does not block the report.
func TestUnhealthy(t *testing.T) {
	c := connect(t, "")
	s, err := Listen("127.0.0.1:0", Options{})
	require.NoError(t, err)
	defer s.Close()
	s.Add(c.client)
	began, release := make(chan struct{}), make(chan struct{})
	go func() {
		_ = c.client.Do(0, func(*transport.Endpoint) { close(began); <-release })
	}()
	<-began
	code, body := get(t, s, "/healthz")
	close(release)
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Contains(t, body, "did not answer")
}

func TestStart(t *testing.T) {
	s, err := Start("")
	require.NoError(t, err)
	require.Nil(t, s)
	s.Add(nil) // does nothing
	require.NoError(t, s.Close())
	_, err = Start("127.0.0.1:99999")
	require.ErrorContains(t, err, "--metrics 127.0.0.1:99999")
	require.ErrorContains(t, CheckAddr("--metrics", "9100"), "want HOST:PORT")
	require.NoError(t, CheckAddr("--metrics", ":9100"))
}
