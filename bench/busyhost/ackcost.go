package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The benchmarks of package cc whose difference is what an ACK event costs more with the host's
// part of the delay.
const (
	ackPlain    = "BenchmarkSwift"
	ackHost     = "BenchmarkSwiftHost"
	ackBar      = 2.0 // ns
	ackDeadline = 10 * time.Minute
)

// ackCost runs Swift's benchmarks. It judges them if there is one with the host's part of the
// delay, and prints them otherwise.
type ackCost struct{}

func (ackCost) judge(ctx context.Context, b *bench, r *result) error {
	gobin, err := exec.LookPath("go")
	if err != nil {
		r.skip("needs go: " + err.Error())
		return nil
	}
	if _, err := os.Stat("cc/bench_test.go"); err != nil {
		r.skip("needs to run in the module's directory: " + err.Error())
		return nil
	}
	out, failure, err := execute(ctx, ackDeadline, gobin, "test", "./cc", "-run", "^$", "-bench",
		"Swift", "-benchtime", "200ms", "-count", strconv.Itoa(b.rounds))
	if err != nil {
		return err
	}
	if failure != "" {
		r.conclude("-", math.NaN(), []string{"go test ./cc: " + failure})
		return nil
	}
	runs := benchmarks(out)
	for _, name := range []string{ackPlain, ackHost} {
		if len(runs[name]) > 0 {
			r.Trials = append(r.Trials, record{Command: name, Place: quiet.String(), Unit: "ns",
				Runs: runs[name], format: "%.2f"})
		}
	}
	plain, host := median(values(runs[ackPlain])), median(values(runs[ackHost]))
	if math.IsNaN(plain) || math.IsNaN(host) {
		r.conclude(fmt.Sprintf("%.1f ns an event", plain), plain, nil)
		r.Verdict, r.Notes = info, []string{"not judged: package cc has no " + ackHost}
		return nil
	}
	r.conclude(difference(plain, host))
	return nil
}

func difference(plain, host float64) (figure string, more float64, problems []string) {
	more = host - plain
	figure = fmt.Sprintf("%+.1f ns: %.1f and %.1f", more, plain, host)
	if more > ackBar {
		problems = []string{fmt.Sprintf("%.1f ns more", more)}
	}
	return figure, more, problems
}

var benchmarkLine = regexp.MustCompile(`^(Benchmark\w+)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op`)

// benchmarks reads the output of go test -bench: ns an operation, by name.
func benchmarks(out []byte) map[string][]outcome {
	runs := map[string][]outcome{}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		if m := benchmarkLine.FindStringSubmatch(strings.TrimSpace(s.Text())); m != nil {
			if ns, err := strconv.ParseFloat(m[2], 64); err == nil {
				runs[m[1]] = append(runs[m[1]], outcome{Value: ns})
			}
		}
	}
	return runs
}
