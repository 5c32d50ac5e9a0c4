package perftest

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/goroce/goroce/dpdk"
	"github.com/goroce/goroce/internal/endpoint"
	"github.com/goroce/goroce/prioplus"
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

// validate checks the settings: first each by itself, as its flag declares, then those that depend
// on each other.
func (s *Settings) validate() error {
	p := new(problems)
	if err := s.table(&extras{}).Validate(); err != nil {
		*p = append(*p, err)
	}
	s.validateDepths(p)
	s.validateTest(p)
	s.validatePort(p)
	s.validateInfinite(p)
	s.validateCM(p)
	p.when(s.JSONFile == "-" && s.WatchJSON == "-",
		"--watch_json -: standard output is in use by --out_json_file")
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

func (s *Settings) checkMTU(name string) error {
	if s.MTU != 0 && !slices.Contains([]int{256, 512, 1024, 2048, 4096}, s.MTU) {
		return fmt.Errorf("%s %d: want 256, 512, 1024, 2048 or 4096", name, s.MTU)
	}
	return nil
}

func (s *Settings) checkGIDIndex(name string) error {
	if s.GIDIndex < -1 || s.GIDIndex > len(s.Addrs) {
		return fmt.Errorf("%s %d: want 0, the link-local address, or the number of an --ip "+
			"address, 1 to %d", name, s.GIDIndex, len(s.Addrs))
	}
	return nil
}

func (s *Settings) checkConnectTimeout(name string) error {
	if s.ConnectTimeout <= 0 {
		return fmt.Errorf("%s %v: want more than 0", name, s.ConnectTimeout)
	}
	return nil
}

func (s *Settings) checkWork(name string) error {
	if s.Work < 0 || s.Work > units.Second {
		return fmt.Errorf("%s %v: want 0 to 1s", name, s.Work)
	}
	return nil
}

func (s *Settings) checkDevice(name string) error {
	if _, err := dpdk.ParseURL(s.Device); err != nil {
		return fmt.Errorf("%s %s: %w", name, s.Device, err)
	}
	return nil
}

func (s *Settings) checkAddrs(name string) error {
	p := new(problems)
	for i, ip := range s.Addrs {
		p.when(!ip.IsValid() || ip.Addr().IsMulticast() || ip.Addr().IsUnspecified(),
			"%s %v: want a unicast address", name, ip)
		p.when(slices.Contains(s.Addrs[:i], ip), "%s %v: given twice", name, ip)
	}
	return errors.Join(*p...)
}

// checkPriorities checks every algorithm with every priority.
func (s *Settings) checkPriorities(name string) error {
	p := new(problems)
	for _, spec := range s.Congestion {
		for _, priority := range s.Priorities {
			err := prioplus.Spec{Inner: spec, Channels: s.Channels, Priority: priority}.Check()
			p.when(err != nil, "%s %d: %w", name, priority, err)
		}
	}
	return errors.Join(*p...)
}

// validateDepths checks the lengths of the queues against each other.
func (s *Settings) validateDepths(p *problems) {
	p.when(s.PostList > s.TxDepth, "--post_list %d: want at most --tx-depth %d", s.PostList,
		s.TxDepth)
	p.when(s.CQMod > s.TxDepth, "--cq-mod %d: want at most --tx-depth %d", s.CQMod, s.TxDepth)
	if s.QPs < 1 || s.QPs > maxQPs {
		return // already reported
	}
	p.when(s.QPs*s.TxDepth > endpoint.MaxCQDepth,
		"--qp %d, --tx-depth %d: want a product of at most %d", s.QPs, s.TxDepth,
		endpoint.MaxCQDepth)
	p.when(s.QPs*s.receiveDepth() > endpoint.MaxCQDepth,
		"--qp %d, --rx-depth %d: want a product of at most %d", s.QPs, s.RxDepth,
		endpoint.MaxCQDepth)
	p.when(s.Queues > s.QPs, "--queues %d: want at most --qp %d", s.Queues, s.QPs)
}

// validateTest checks the flags that depend on the verb or kind of test.
func (s *Settings) validateTest(p *problems) {
	t, c := s.Test, s.Connection
	p.when(t.isOneSided() && c != transport.RC, "--connection %v: %s needs RC", c, t.Name())
	p.when(t.Verb == Write && c == transport.UD, "--connection UD: %s needs RC or UC", t.Name())
	p.when(t.Verb == Atomic && s.Size != 8, "--size %d: an atomic has 8 bytes", s.Size)
	p.when(t.Kind == Latency && s.QPs > 1, "--qp %d: a latency test has one queue pair", s.QPs)
	p.when(s.Duration > 0 && 2*s.Margin >= s.Duration,
		"--margin %g: want less than half of --duration %g", s.Margin.Seconds(),
		s.Duration.Seconds())
	p.when(s.Duration > 0 && s.All, "--duration and --all are mutually exclusive")
	p.when(s.CPUUtil && s.Duration == 0, "--cpu_util: needs --duration")
	p.when(s.WarmUp && s.Duration > 0, "--perform_warm_up: with --duration the --margin warms up")
	p.when(s.SharedReceive && s.Work > 0, "--use-srq: want no --work, which keeps waiting "+
		"messages of each queue pair")
	p.when(s.IPv6 && s.GIDIndex >= 0, "--ipv6 and --gid-index are mutually exclusive")
	if t.Kind == Latency {
		p.when(s.Unsorted && s.Duration > 0, "--report-unsorted: needs --iters, not --duration")
		p.when(s.Unsorted && s.Iters > maxSamples,
			"--report-unsorted: want --iters of at most %d", maxSamples)
	}
}

// validateInfinite checks the flags that --run_infinitely excludes.
func (s *Settings) validateInfinite(p *problems) {
	if !s.Infinitely {
		return
	}
	p.when(s.Validate, "--data_validation: not with --run_infinitely")
	p.when(s.LimitBW > 0 || s.LimitMsgRate > 0,
		"--limit_bw, --limit_msgrate: a run with --run_infinitely has no result to compare")
}

// validatePort checks the flags that a port within the process excludes.
func (s *Settings) validatePort(p *problems) {
	if !s.inProcess() {
		return
	}
	p.when(s.Host != "", "%s: want no server with --ib-dev %s, where both ends run in this process",
		s.Host, s.Device)
	p.when(s.Upstream, "--upstream: want a port other than %s, where both ends run in this process",
		s.Device)
}

// validateCM checks the flags that -R excludes.
func (s *Settings) validateCM(p *problems) {
	if !s.CM {
		return
	}
	p.when(s.inProcess(),
		"--rdma_cm: want a port other than %s, where both ends run in this process", s.Device)
	p.when(s.Connection == transport.UC && s.connectsByCM(),
		"--connection UC: not supported with --rdma_cm (nor by perftest)")
	p.when(s.Connection == transport.UD,
		"--connection UD: want RC with --rdma_cm, or no --rdma_cm: over TCP the ends also "+
			"exchange the addresses of UD queue pairs")
	p.when(s.Validate, "--data_validation: not supported with --rdma_cm, which uses linux-rdma "+
		"perftest's protocol")
	p.when(s.WriteWithImm, "--write_with_imm: not supported with --rdma_cm, which uses "+
		"linux-rdma perftest's protocol")
	p.when(s.GIDIndex >= 0 || s.IPv6,
		"--gid-index, --ipv6: with --rdma_cm the server's address determines this end's")
	if s.Host != "" && !s.inProcess() {
		_, err := netip.ParseAddr(s.Host)
		p.when(err != nil, "%s: with --rdma_cm want the RoCE address of the server's port, such "+
			"as 10.0.0.1", s.Host)
	}
}
