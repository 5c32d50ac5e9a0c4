package perftest

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// problems collects all errors of the settings, so that they are reported together.
type problems []error

func (p *problems) when(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func (p *problems) within(flag string, value, low, high int) {
	p.when(value < low || value > high, "%s %d: want %d to %d", flag, value, low, high)
}

// validate checks the settings.
func (s *Settings) validate() error {
	p := new(problems)
	s.validateNumbers(p)
	s.validateTest(p)
	s.validatePort(p)
	s.validateOutput(p)
	s.validatePriorities(p)
	s.validateTokens(p)
	s.validateWork(p)
	s.validateCredits(p)
	s.validateOffload(p)
	if len(*p) == 0 {
		each, _ := s.layout()
		p.when(2*each > maxMemory/s.QPs,
			"--qp %d: buffers of %d bytes in each direction take more than %d GiB",
			s.QPs, each, maxMemory>>30)
	}
	return errors.Join(*p...)
}

func (s *Settings) validateNumbers(p *problems) {
	p.within("--port", s.Port, 1, 65535)
	p.within("--size", s.Size, 1, maxSize)
	p.within("--iters", s.Iters, 5, maxIters)
	p.within("--qp", s.QPs, 1, maxQPs)
	p.within("--tx-depth", s.TxDepth, 1, endpoint.MaxQueueDepth)
	p.within("--rx-depth", s.RxDepth, 1, endpoint.MaxQueueDepth)
	p.within("--post_list", s.PostList, 1, maxPostList)
	p.within("--inline_size", s.Inline, 0, endpoint.MaxInline)
	p.within("--outs", s.Outs, 1, endpoint.MaxRdAtomic)
	p.within("--cq-mod", s.CQMod, 0, 1024)
	p.within("--tclass", s.TrafficClass, 0, 255)
	p.within("--ack-tclass", s.AnswerClass, 1, 255)
	p.within("--qp-timeout", s.QPTimeout, 0, 31)
	p.within("--retry_count", s.RetryCount, 0, 7)
	p.within("--queues", s.Queues, 1, dpdk.MaxQueues)
	p.when(s.MTU != 0 && !slices.Contains([]int{256, 512, 1024, 2048, 4096}, s.MTU),
		"--mtu %d: want 256, 512, 1024, 2048 or 4096", s.MTU)
	p.when(s.PostList > s.TxDepth, "--post_list %d: want at most --tx-depth %d", s.PostList,
		s.TxDepth)
	p.when(s.CQMod > s.TxDepth, "--cq-mod %d: want at most --tx-depth %d", s.CQMod, s.TxDepth)
	p.when(s.QPs*s.TxDepth > endpoint.MaxCQDepth,
		"--qp %d: times --tx-depth %d exceeds the %d completions of a queue", s.QPs, s.TxDepth,
		endpoint.MaxCQDepth)
	p.when(s.QPs*s.receiveDepth() > endpoint.MaxCQDepth,
		"--qp %d: times --rx-depth %d exceeds the %d completions of a queue", s.QPs, s.RxDepth,
		endpoint.MaxCQDepth)
	p.when(s.Queues > s.QPs, "--queues %d: want at most --qp %d", s.Queues, s.QPs)
	p.when(s.LimitBW < 0, "--limit_bw %g: want at least 0", s.LimitBW)
	p.when(s.LimitMsgRate < 0, "--limit_msgrate %g: want at least 0", s.LimitMsgRate)
}

// validateTest checks the flags that depend on the verb or kind of test.
func (s *Settings) validateTest(p *problems) {
	t, c := s.Test, s.Connection
	p.when(t.isOneSided() && c != transport.RC, "--connection %v: %s needs RC", c, t.Name())
	p.when(t.Verb == Write && c == transport.UD, "--connection UD: %s needs RC or UC", t.Name())
	p.when(t.Verb == Atomic && s.Size != 8, "--size %d: an atomic has 8 bytes", s.Size)
	p.when(t.Kind == Latency && s.QPs > 1, "--qp %d: a latency test has one queue pair", s.QPs)
	p.when(s.Duration < 0 || s.Duration > maxSeconds*units.Second,
		"--duration %g: want 0 to %d seconds", s.Duration.Seconds(), maxSeconds)
	p.when(s.Duration > 0 && 2*s.Margin >= s.Duration,
		"--margin %g: want less than half of --duration %g", s.Margin.Seconds(),
		s.Duration.Seconds())
	p.when(s.Duration > 0 && s.All, "--duration and --all are mutually exclusive")
	if t.Kind == Bandwidth {
		p.when(s.Unsorted, "--report-unsorted: only for latency tests")
	} else {
		p.when(s.Unsorted && s.Duration > 0, "--report-unsorted: needs --iters, not --duration")
		p.when(s.Unsorted && s.Iters > maxSamples,
			"--report-unsorted: want --iters of at most %d", maxSamples)
	}
}

func (s *Settings) validatePort(p *problems) {
	_, err := dpdk.ParseURL(s.Device)
	p.when(err != nil, "--ib-dev %s: %w", s.Device, err)
	p.when(s.inProcess() && s.Host != "",
		"%s: want no server with --ib-dev %s, where both ends run in this process", s.Host,
		s.Device)
	p.when(s.inProcess() && s.Upstream,
		"--upstream: with --ib-dev %s both ends run in this process", s.Device)
	s.validateCM(p)
	p.when(s.ConnectTimeout <= 0, "--connect-timeout %v: want more than 0", s.ConnectTimeout)
	p.when(s.GIDIndex < 0 || s.GIDIndex >= max(1, len(s.Addrs)),
		"--gid-index %d out of range: %d --ip addresses, counted from 0", s.GIDIndex, len(s.Addrs))
	for _, core := range s.Cores {
		p.when(core < 0, "--cores %d: want at least 0", core)
	}
	for i, ip := range s.Addrs {
		p.when(!ip.IsValid() || ip.Addr().IsMulticast() || ip.Addr().IsUnspecified(),
			"--ip %v: want a unicast address", ip)
		p.when(slices.Contains(s.Addrs[:i], ip), "--ip %v: given twice", ip)
	}
}

// validateCM checks the flags that -R excludes.
func (s *Settings) validateCM(p *problems) {
	if !s.CM {
		return
	}
	p.when(s.inProcess(), "--rdma_cm: with --ib-dev %s both ends run in this process", s.Device)
	p.when(s.Connection == transport.UC,
		"--connection UC: not supported with --rdma_cm (nor by perftest)")
	p.when(s.Connection == transport.UD,
		"--connection UD: not supported with --rdma_cm (SIDR is not implemented)")
	p.when(s.Validate,
		"--data_validation: not supported with --rdma_cm, which uses linux-rdma perftest's protocol")
	p.when(s.WriteWithImm,
		"--write_with_imm: not supported with --rdma_cm, which uses linux-rdma perftest's protocol")
	p.when(s.GIDIndex != 0,
		"--gid-index %d: with --rdma_cm the server's address determines this end's",
		s.GIDIndex)
	if s.Host != "" && !s.inProcess() {
		_, err := netip.ParseAddr(s.Host)
		p.when(err != nil, "%s: with --rdma_cm want the RoCE address of the server's port, such "+
			"as 10.0.0.1", s.Host)
	}
}

func (s *Settings) validateOutput(p *problems) {
	allowed := []string{"bandwidth", "message_rate"}
	if s.Test.Kind == Latency {
		allowed = []string{"latency"}
	}
	p.when(s.Output != "" && !slices.Contains(allowed, s.Output),
		"--output %s: %s supports %s", s.Output, s.Test.Name(), strings.Join(allowed, ", "))
	for flag, f := range map[string]string{"--out_json_file": s.JSONFile,
		"--watch_json": s.WatchJSON} {
		if f != "" && f != "-" {
			err := checkWritable(filepath.Dir(f))
			p.when(err != nil, "%s %s: %w", flag, f, err)
		}
	}
	p.when(s.JSONFile == "-" && s.WatchJSON == "-",
		"--watch_json -: standard output is in use by --out_json_file")
}
