package perftest

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// problems are what is wrong with settings: all of it, so that nobody has to come back for each.
type problems []error

func (p *problems) when(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func (p *problems) within(flag string, value, low, high int) {
	p.when(value < low || value > high, "%s %d: want %d to %d", flag, value, low, high)
}

// validate says what cannot be, flag by flag.
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
			"--qp %d: at %d bytes each way the buffers take more than %d GiB",
			s.QPs, each, maxMemory>>30)
	}
	return errors.Join(*p...)
}

func (s *Settings) validateNumbers(p *problems) {
	p.within("--port", s.Port, 1, 65535)
	p.within("--size", s.Size, 1, maxSize)
	p.within("--iters", s.Iters, 5, maxIters)
	p.within("--qp", s.QPs, 1, maxQPs)
	p.within("--tx-depth", s.TxDepth, 1, transport.MaxQueueDepth)
	p.within("--rx-depth", s.RxDepth, 1, transport.MaxQueueDepth)
	p.within("--post_list", s.PostList, 1, maxPostList)
	p.within("--inline_size", s.Inline, 0, transport.MaxInline)
	p.within("--outs", s.Outs, 1, transport.MaxRdAtomic)
	p.within("--cq-mod", s.CQMod, 0, 1024)
	p.within("--tclass", s.TrafficClass, 0, 255)
	p.within("--ack-tclass", s.AnswerClass, 1, 255)
	p.within("--qp-timeout", s.QPTimeout, 0, 31)
	p.within("--retry_count", s.RetryCount, 0, 7)
	p.within("--queues", s.Queues, 1, dpdk.MaxQueues)
	p.when(s.MTU != 0 && !slices.Contains([]int{256, 512, 1024, 2048, 4096}, s.MTU),
		"--mtu %d: want 256, 512, 1024, 2048 or 4096", s.MTU)
	p.when(s.PostList > s.TxDepth, "--post_list %d: more than --tx-depth %d", s.PostList, s.TxDepth)
	p.when(s.CQMod > s.TxDepth, "--cq-mod %d: more than --tx-depth %d", s.CQMod, s.TxDepth)
	p.when(s.QPs*s.TxDepth > transport.MaxCQDepth,
		"--qp %d: with --tx-depth %d more than the %d completions a queue holds", s.QPs, s.TxDepth,
		transport.MaxCQDepth)
	p.when(s.QPs*s.receiveDepth() > transport.MaxCQDepth,
		"--qp %d: with --rx-depth %d more than the %d completions a queue holds", s.QPs, s.RxDepth,
		transport.MaxCQDepth)
	p.when(s.Queues > s.QPs, "--queues %d: more than --qp %d", s.Queues, s.QPs)
	p.when(s.LimitBW < 0, "--limit_bw %g: negative", s.LimitBW)
	p.when(s.LimitMsgRate < 0, "--limit_msgrate %g: negative", s.LimitMsgRate)
}

// validateTest says what does not go with the verb or the kind of test.
func (s *Settings) validateTest(p *problems) {
	t, c := s.Test, s.Connection
	p.when(t.oneSided() && c != transport.RC, "--connection %v: %s needs RC", c, t.Name())
	p.when(t.Verb == Write && c == transport.UD, "--connection UD: %s needs RC or UC", t.Name())
	p.when(t.Verb == Atomic && s.Size != 8, "--size %d: an atomic is 8 bytes", s.Size)
	p.when(t.Kind == Latency && s.QPs > 1, "--qp %d: a latency test has one", s.QPs)
	p.when(s.Duration < 0 || s.Duration > maxSeconds*units.Second,
		"--duration %g: want seconds, up to %d", s.Duration.Seconds(), maxSeconds)
	p.when(s.Duration > 0 && 2*s.Margin >= s.Duration,
		"--margin %g: twice that leaves nothing of --duration %g", s.Margin.Seconds(),
		s.Duration.Seconds())
	p.when(s.Duration > 0 && s.All, "--duration and --all: one or the other")
	if t.Kind == Bandwidth {
		p.when(s.Unsorted, "--report-unsorted: for latency tests")
	} else {
		p.when(s.Unsorted && s.Duration > 0, "--report-unsorted: needs --iters, not --duration")
		p.when(s.Unsorted && s.Iters > maxSamples,
			"--report-unsorted: keeps every sample, up to --iters %d", maxSamples)
	}
}

func (s *Settings) validatePort(p *problems) {
	_, err := dpdk.ParseURL(s.Device)
	p.when(err != nil, "--ib-dev %s: %w", s.Device, err)
	p.when(s.inProcess() && s.Host != "",
		"%s: with --ib-dev %s both ends run in this process, there is no server to name", s.Host,
		s.Device)
	p.when(s.inProcess() && s.Upstream,
		"--upstream: with --ib-dev %s both ends run in this process", s.Device)
	s.validateCM(p)
	p.when(s.ConnectTimeout <= 0, "--connect-timeout %v: want more than 0", s.ConnectTimeout)
	p.when(s.GIDIndex < 0 || s.GIDIndex >= max(1, len(s.Addrs)),
		"--gid-index %d: there are %d --ip addresses, counted from 0", s.GIDIndex, len(s.Addrs))
	for _, core := range s.Cores {
		p.when(core < 0, "--cores %d: negative", core)
	}
	for i, ip := range s.Addrs {
		p.when(!ip.IsValid() || ip.Addr().IsMulticast() || ip.Addr().IsUnspecified(),
			"--ip %v: no unicast address", ip)
		p.when(slices.Contains(s.Addrs[:i], ip), "--ip %v: given twice", ip)
	}
}

// validateCM says what does not go with -R.
func (s *Settings) validateCM(p *problems) {
	if !s.CM {
		return
	}
	p.when(s.inProcess(), "--rdma_cm: with --ib-dev %s both ends run in this process", s.Device)
	p.when(s.Connection == transport.UC,
		"--connection UC: not with --rdma_cm, where perftest has no UC")
	p.when(s.Connection == transport.UD,
		"--connection UD: not with --rdma_cm: its datagram service (SIDR) is not here")
	p.when(s.Validate,
		"--data_validation: not with --rdma_cm, where the peer is taken for linux-rdma's perftest")
	p.when(s.WriteWithImm,
		"--write_with_imm: not with --rdma_cm, where the peer is taken for linux-rdma's perftest")
	p.when(s.GIDIndex != 0, "--gid-index %d: with --rdma_cm the server's address chooses ours",
		s.GIDIndex)
	if s.Host != "" && !s.inProcess() {
		_, err := netip.ParseAddr(s.Host)
		p.when(err != nil, "%s: with --rdma_cm a server has the RoCE address of its port, such "+
			"as 10.0.0.1", s.Host)
	}
}

func (s *Settings) validateOutput(p *problems) {
	allowed := []string{"bandwidth", "message_rate"}
	if s.Test.Kind == Latency {
		allowed = []string{"latency"}
	}
	p.when(s.Output != "" && !slices.Contains(allowed, s.Output),
		"--output %s: %s has %s", s.Output, s.Test.Name(), strings.Join(allowed, ", "))
	for flag, f := range map[string]string{"--out_json_file": s.JSONFile,
		"--watch_json": s.WatchJSON} {
		if f != "" && f != "-" {
			err := writable(filepath.Dir(f))
			p.when(err != nil, "%s %s: %w", flag, f, err)
		}
	}
	p.when(s.JSONFile == "-" && s.WatchJSON == "-",
		"--watch_json -: standard output is --out_json_file's")
}
