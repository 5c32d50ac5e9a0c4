package perftest

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/goroce/goroce/transport"
)

// console prints a test in perftest's format. The zero console prints nothing.
type console struct {
	out, err io.Writer // nil: silent
	settings *Settings
	terminal bool // err is a terminal
}

var line = strings.Repeat("-", 87) + "\n"

func newConsole(s *Settings, out, errs io.Writer) *console {
	c := &console{out: out, err: errs, settings: s}
	if s.JSONFile == "-" {
		c.out = errs // standard output is the document's
	}
	if f, ok := errs.(*os.File); ok {
		info, err := f.Stat()
		c.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return c
}

func (c *console) isSilent() bool { return c.out == nil }

// isBrief reports whether at most a single number is to be printed.
func (c *console) isBrief() bool { return c.isSilent() || c.settings.Output != "" }

func (c *console) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// note prints a remark on the results to standard error.
func (c *console) note(format string, args ...any) {
	if c.err != nil {
		fmt.Fprintf(c.err, "%s: %s\n", c.settings.Test.Name(), fmt.Sprintf(format, args...))
	}
}

// banner prints that the server is waiting.
func (c *console) banner() {
	if c.isBrief() {
		return
	}
	stars := strings.Repeat("*", 36) + "\n"
	fmt.Fprint(c.out, "\n", stars, "* Waiting for client to connect... *\n", stars)
	if c.settings.CM {
		fmt.Fprint(c.out, " Waiting for client rdma_cm QP to connect\n Please run the same "+
			"command with the IB/RoCE interface IP\n")
	}
}

// row prints the result of one size.
func (c *console) row(r *Row) {
	switch {
	case c.isSilent():
	case c.settings.Output != "":
		fmt.Fprintln(c.out, r.single(c.settings.Output))
	case r.LatencyRow != nil && c.settings.Duration > 0:
		fmt.Fprintf(c.out, " %-7d       %d            %-7.2f        %-7.2f%s\n", r.MsgSize,
			r.Iterations, r.Avg, r.TPS, c.cpuColumn(r))
	case r.LatencyRow != nil:
		c.samples(r)
		fmt.Fprint(c.out, latencyLine(r))
	default:
		fmt.Fprintln(c.out, bandwidthLine(r, c.settings.Gbits)+c.cpuColumn(r))
	}
}

// latencyLine formats a row as perftest's REPORT_FMT_LAT.
func latencyLine(r *Row) string {
	const format = " %-7d %d          %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f     " +
		"\t%-7.2f\t\t%-7.2f \t\t%-7.2f\n"
	return fmt.Sprintf(format, r.MsgSize, r.Iterations, r.Min, r.Max, r.Typical, r.Avg, r.Stdev,
		r.P99, r.P999)
}

// bandwidthLine formats a row as perftest's REPORT_FMT, or as REPORT_FMT_EXT below 0.1 Gb/s.
func bandwidthLine(r *Row, gbits bool) string {
	if gbits && r.Average < 0.1 {
		return fmt.Sprintf(" %-7d    %d           %-7.6f            %-7.6f            %-7.6f",
			r.MsgSize, r.Iterations, r.Peak, r.Average, r.MsgRate)
	}
	return fmt.Sprintf(" %-7d    %-10d       %-7.2f            %-7.2f\t\t     %-7.6f",
		r.MsgSize, r.Iterations, r.Peak, r.Average, r.MsgRate)
}

// cpuColumn formats the column of --cpu_util: the process's share of all processors.
func (c *console) cpuColumn(r *Row) string {
	if !c.settings.CPUUtil {
		return ""
	}
	return fmt.Sprintf("\t    %-7.2f", r.CPU.Percent/float64(runtime.NumCPU()))
}

// single formats the one number that --output selects.
func (r *Row) single(what string) string {
	switch what {
	case "bandwidth":
		return fmt.Sprintf("%.2f", r.Average)
	case "message_rate":
		return fmt.Sprintf("%.6f", r.MsgRate)
	}
	return fmt.Sprintf("%.2f", r.Typical)
}

// samples prints every sample, for -U.
func (c *console) samples(r *Row) {
	if !c.settings.Unsorted || r.samples == nil {
		return
	}
	fmt.Fprintln(c.out, "#, usec")
	for i, us := range r.samples {
		fmt.Fprintf(c.out, "%d, %g\n", i+1, us)
	}
}

// histogram prints the latency histogram, for -H.
func (c *console) histogram(r *Row) {
	if !c.settings.Histogram || r.latencies == nil {
		return
	}
	fmt.Fprintf(c.out, "usec, samples (%d bytes)\n", r.MsgSize)
	for _, bar := range r.latencies.hdr.Distribution() {
		if bar.Count > 0 {
			fmt.Fprintf(c.out, "%.3f, %d\n", float64(bar.To)/1e3, bar.Count)
		}
	}
}

// heading returns the table's column titles.
func (s *Settings) heading() string {
	cpu := ""
	if s.CPUUtil {
		cpu = "    CPU_Util[%]"
	}
	switch {
	case s.Test.Kind == Latency && s.Duration > 0:
		return " #bytes        #iterations       t_avg[usec]    tps average" + cpu + "\n"
	case s.Test.Kind == Latency:
		return " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    " +
			"t_avg[usec]    t_stdev[usec]" +
			"   99% percentile[usec]   99.9% percentile[usec] \n"
	}
	unit := s.unitName()
	const heading = " #bytes     #iterations    BW peak[%s]    BW average[%s]   MsgRate[Mpps]%s\n"
	return fmt.Sprintf(heading, unit, unit, cpu)
}

func (s *Settings) unitName() string {
	if s.Gbits {
		return "Gb/sec"
	}
	return "MiB/sec"
}

// end closes the table and prints a summary beyond perftest's output.
func (c *console) end(x *session) {
	if c.isBrief() {
		return
	}
	fmt.Fprint(c.out, line)
	var t Totals
	lost, cut := uint64(0), uint64(0)
	for _, r := range x.rows {
		t.add(r.Totals)
		lost += r.Lost
		cut += r.CutOff
	}
	fmt.Fprintf(c.out, " %v", t)
	if c.settings.Connection != transport.RC {
		fmt.Fprintf(c.out, ", lost messages %d", lost)
	}
	if cut > 0 {
		fmt.Fprintf(c.out, ", cut off at the end %d", cut)
	}
	fmt.Fprintln(c.out)
	if o := x.offload(); o != nil {
		fmt.Fprintf(c.out, " %v\n", o)
	}
	if len(x.rows) == 0 {
		return
	}
	r := x.rows[len(x.rows)-1]
	if p := r.Percentiles; p.Max > 0 { // zero for an OFED peer
		fmt.Fprintf(c.out, " latency at %d bytes [usec]: p50 %.2f, p90 %.2f, p99 %.2f, p99.9 "+
			"%.2f, p99.99 %.2f, max %.2f\n",
			r.MsgSize, p.P50, p.P90, p.P99, p.P999, p.P9999, p.Max)
	}
	if w := r.Work; w != nil {
		fmt.Fprintf(c.out, " receiver at %d bytes: %v\n", r.MsgSize, w)
	}
	if len(r.PerQP) > 1 {
		c.fairness(r)
	}
	c.histogram(r)
}

// fairness prints how the queue pairs shared the bandwidth; of many, only the slowest and the
// fastest.
func (c *console) fairness(r *Row) {
	unit := c.settings.unitName()
	fmt.Fprintf(c.out, " Jain index %.4f over %d queue pairs [%s]:", r.Jain, len(r.PerQP), unit)
	const few = 8
	if len(r.PerQP) <= few {
		for _, q := range r.PerQP {
			fmt.Fprintf(c.out, " %.2f", q.Average)
		}
		fmt.Fprintln(c.out)
		return
	}
	low, high := r.PerQP[0].Average, r.PerQP[0].Average
	for _, q := range r.PerQP {
		low, high = min(low, q.Average), max(high, q.Average)
	}
	fmt.Fprintf(c.out, " from %.2f to %.2f\n", low, high)
}

// Progress is shown for runs longer than progressDelay, at intervals of progressInterval.
const (
	progressDelay    = 2 * time.Second
	progressInterval = 500 * time.Millisecond
)

// progress shows the progress of a long run on the terminal until stop is called.
func (c *console) progress(x *session, r *sizeRun) (stop func()) {
	s := c.settings
	if c.isSilent() || !c.terminal || s.Watch || s.Infinitely ||
		len(r.senders) == 0 && r.ping == nil || !r.isActive() {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		begun, shown := time.Now(), false
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				if shown {
					fmt.Fprint(c.err, "\r\x1b[K")
				}
				return
			case <-ticker.C:
			}
			if elapsed := time.Since(begun); elapsed >= progressDelay {
				shown = true
				fmt.Fprintf(c.err, "\r\x1b[K %d bytes: %s", r.size, r.progressText(elapsed))
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// progressText formats the progress of a run. It queries the polling cores, which costs them next
// to nothing.
func (r *sizeRun) progressText(elapsed time.Duration) string {
	done := uint64(0)
	for i, l := range r.x.queueSets {
		_ = l.do(func(*transport.Endpoint) error {
			if r.ping != nil {
				done += r.ping.latencies.n
			} else {
				done += r.senders[i].done
			}
			return nil
		})
	}
	s := r.x.settings
	rate := float64(done) / elapsed.Seconds()
	text := fmt.Sprintf("%d messages, %.3f million/s, %.0f %s", done, rate/1e6, rate*s.unit(r.size),
		s.unitName())
	if s.Duration > 0 {
		return fmt.Sprintf("%.0f of %g s, %s", elapsed.Seconds(), s.Duration.Seconds(), text)
	}
	return fmt.Sprintf("%.0f%%, %s", 100*float64(done)/float64(max(1, s.Iters*s.QPs)), text)
}
