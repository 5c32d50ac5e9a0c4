package perftest

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchmark runs b.N messages over a loop and reports what the test itself measured: setting up is
// not in it.
func benchmark(b *testing.B, test Test, args ...string) *Row {
	s, err := parse(test, append([]string{"-d", "loop:bench"}, args...))
	require.NoError(b, err)
	s.Iters = max(b.N/s.QPs, 1000)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	x, err := run(b.Context(), s, newConsole(s, io.Discard, io.Discard))
	require.NoError(b, err)
	return x.rows[0]
}

func reportRate(b *testing.B, r *Row) {
	b.ReportMetric(1e3/r.MsgRate, "ns/op")
	b.ReportMetric(r.MsgRate*1e6, "msg/s")
	b.ReportMetric(r.Average, "Gb/s")
	b.ReportMetric(r.CPU.Percent/100, "cores")
}

// BenchmarkMessages is the rate of 32-byte SENDs from one core to another.
func BenchmarkMessages(b *testing.B) {
	reportRate(b, benchmark(b, sendBW, "-s", "32", "--report_gbits"))
}

// BenchmarkGoodput is that of 4 KiB WRITEs.
func BenchmarkGoodput(b *testing.B) {
	reportRate(b, benchmark(b, writeBW, "-s", "4096", "--report_gbits"))
}

// BenchmarkQueuePairs spreads 32-byte SENDs over many queue pairs.
func BenchmarkQueuePairs(b *testing.B) {
	for _, qps := range []string{"1", "64", "1024"} {
		b.Run(qps, func(b *testing.B) {
			reportRate(b, benchmark(b, sendBW, "-s", "32", "-q", qps, "-t", "32", "-r", "64",
				"--report_gbits"))
		})
	}
}

// BenchmarkLatency is half a round trip of an 8-byte WRITE.
func BenchmarkLatency(b *testing.B) {
	r := benchmark(b, writeLat, "-s", "8")
	b.ReportMetric(r.Avg*1e3, "ns/op")
	b.ReportMetric(r.TPS, "msg/s")
	b.ReportMetric(r.Percentiles.P50*1e3, "p50-ns")
	b.ReportMetric(r.Percentiles.P999*1e3, "p99.9-ns")
}

// BenchmarkMeter and BenchmarkRecord are the costs of measuring.
func BenchmarkMeter(b *testing.B) {
	m := newMeter(128)
	m.start(0, 0)
	for i := 0; b.Loop(); i++ {
		m.tick(0, uint64(i)&0xff)
	}
}

func BenchmarkRecord(b *testing.B) {
	l := newLatencies()
	for b.Loop() {
		l.record(1000 * 500)
	}
}

// BenchmarkOffload is what it costs the polling cores that congestion control is decided elsewhere:
// 32-byte SENDs with both ends on one core, in line and behind a soft NIC whose agent is on that
// core, and on another.
func BenchmarkOffload(b *testing.B) {
	for name, args := range map[string]string{
		"inline": "--cores 0,0", "shared": "--cores 0,0 --offload soft",
		"split": "--cores 0,0,1 --offload soft",
	} {
		b.Run(name, func(b *testing.B) {
			reportRate(b, benchmark(b, sendBW, append(strings.Fields(args), "-s", "32", "--cc",
				"swift")...))
		})
	}
}
