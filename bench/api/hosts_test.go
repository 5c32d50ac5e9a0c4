package api

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/units"
)

// spinning is an Options.Spin in which every response of a benchmark arrives.
const spinning = 10 * units.Millisecond

// waiting is an Options.Spin without any.
const waiting = -units.Nanosecond

// arrangements are the values of Options.Cores by name.
var arrangements = []struct {
	name  string
	cores []int
}{{"cores=any", nil}, {"cores=one", []int{0}}}

// hosts are a client's and a server's host on the two ends of a port.
type hosts struct{ client, server *goroce.Host }

// openPair opens two hosts. The URL of the second has the suffix.
func openPair(b *testing.B, url, suffix string, o goroce.Options) hosts {
	var h hosts
	for _, end := range []struct {
		host **goroce.Host
		url  string
	}{{&h.server, url}, {&h.client, url + suffix}} {
		host, err := goroce.Open(end.url, o)
		require.NoError(b, err)
		*end.host = host
	}
	return h
}

func openLoop(b *testing.B, o goroce.Options) hosts {
	h := openPair(b, "loop:api", "", o)
	b.Cleanup(func() { h.close(b) })
	return h
}

func (h hosts) close(b *testing.B) {
	require.NoError(b, h.client.Close())
	require.NoError(b, h.server.Close())
}

func (h hosts) addrs() [2]netip.Addr {
	return [2]netip.Addr{h.client.Addrs()[0].Addr(), h.server.Addrs()[0].Addr()}
}

// dial returns the two ends of a connection.
func (h hosts) dial(b *testing.B) (client, server *goroce.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l, err := h.server.Listen("127.0.0.1:0")
	require.NoError(b, err)
	defer l.Close()
	client, err = h.client.Dial(ctx, l.Addr().String())
	require.NoError(b, err)
	server, err = l.Accept(ctx)
	require.NoError(b, err)
	return client, server
}

// memories returns n registered bytes at each end of a connection.
func memories(b *testing.B, client, server *goroce.Conn, n int) (local *goroce.Memory,
	remote goroce.Remote) {
	local, err := client.Register(make([]byte, n))
	require.NoError(b, err)
	m, err := server.Register(make([]byte, n))
	require.NoError(b, err)
	return local, m.Remote()
}

// latencies are durations of single operations.
type latencies []units.Duration

// p50 returns the median in microseconds.
func (l latencies) p50() float64 {
	slices.Sort(l)
	return float64(l[len(l)/2]) / float64(units.Microsecond)
}

// median returns the median of the rounds' results.
func median(rates []float64) float64 {
	slices.Sort(rates)
	return rates[len(rates)/2]
}

// rate returns the operations per second of n operations that f executes.
func rate(n int, f func()) float64 {
	began := time.Now()
	f()
	return float64(n) / time.Since(began).Seconds()
}

// timed adds n durations of f.
func (l *latencies) timed(n int, now func() units.Time, f func()) {
	for range n {
		began := now()
		f()
		*l = append(*l, now().Sub(began))
	}
}

// report replaces the time of an iteration, which is a round of everything that is compared.
func report(b *testing.B, metrics map[string]float64) {
	b.ReportMetric(0, "ns/op")
	for unit, value := range metrics {
		b.ReportMetric(value, unit)
	}
}
