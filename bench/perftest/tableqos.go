package perftest

import (
	"fmt"

	"github.com/goroce/goroce/carc"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/nicoffload/driver"
	"github.com/goroce/goroce/tocc"
)

func (s *Settings) serviceFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "tclass", Value: &s.TrafficClass, Bounds: cli.Within(0, 255), JSON: "TOS",
			Help: "traffic class: DSCP and ECN, a `byte`"},
		{Name: "tos", Short: "T", Value: &s.TrafficClass,
			Help: "alias of --tclass, a `byte`: perftest's name for it with --rdma_cm"},
		{Name: "ack-tclass", Value: &s.AnswerClass, Bounds: cli.Within(1, 255),
			Help: "traffic class of ACKs and CNPs, a `byte`; preferably one of high priority"},
		{Name: "flow_label", Value: &s.FlowLabel, Bounds: cli.Within(0, 1<<20-1), NoDefault: true,
			Help: "IPv6 flow label, a `number`"},
		{Name: "hop_limit", Short: "L", Value: &s.HopLimit, Bounds: cli.Within(0, 255),
			NoDefault: true, Help: "IPv4 TTL or IPv6 hop limit, a `number` (default 64)"},
		{Name: "qp-timeout", Short: "u", Value: &s.QPTimeout, Bounds: cli.Within(0, 31),
			NoDefault: true,
			Help: "`exponent` of the ACK timeout, 4.096 us * 2^u; 0 disables it (default 14, on " +
				"loop: 18)"},
		{Name: "retry_count", Value: &s.RetryCount, Bounds: cli.Within(0, 7),
			Help: "`times` to retry before giving up, {bounds}"},
	}
}

func (s *Settings) congestionFlags(x *extras) []cli.Flag {
	return []cli.Flag{
		{Name: "cc", Value: &congestion{specs: (*[]cc.Spec)(&s.Congestion), help: &x.ccHelp},
			Help: "congestion `control`, such as swift:base_target=25us,beta=0.8; repeatable: " +
				"queue pairs take them " +
				"in turn; help lists the algorithms, help=swift explains the parameters of one; " +
				"bolt and hpcc " +
				"need support by switches, as in simulations, and are refused"},
		{Name: "prio", Value: &s.Priorities, Check: s.checkPriorities,
			Help: "virtual `priorities` within one traffic class (PrioPlus), around a " +
				"delay-based algorithm: queue " +
				"pairs take them in turn; 0 is the lowest (default none)"},
		{Name: "channels", Value: &channels{&s.Channels, &x.channelsHelp}, NoDefault: true,
			Help: "`table` of virtual priorities, the same at every sender: their number, or for " +
				"example n=12,a=3.2us,b=0.8us; " +
				"help explains it and shows the given one"},
		{Name: "tocc", Value: &admission[tocc.Spec]{&s.Tokens, tocc.Parse, "tocc",
			&x.admissionHelp, admissionHelp{"--tocc", tocc.Help}}, Hidden: s.Test.isOneSided(),
			Help: "receiver-driven `tokens` for SENDs and WRITEs (ToCC), in addition to --cc, " +
				"such as unsch=0,k=4096, or a scheme such as " +
				"homa; if only one end sets it, the run continues without and prints a note; " +
				"help explains it"},
		{Name: "carc", Value: &admission[carc.Spec]{&s.Cache, carc.Parse, "carc",
			&x.admissionHelp, admissionHelp{"--carc", carc.Help}}, Hidden: s.Test.isOneSided(),
			Help: "credits for the capacity of the receiver's last-level `cache` (CARC), in " +
				"addition to --cc and --tocc, such as llc=4MiB; " +
				"defaults are the machine's. For messages with a completion at the receiver; if " +
				"only one end sets it, " +
				"the run continues without and prints a note; help explains it"},
		{Name: "offload", Value: &s.Offload, Check: s.checkOffload,
			Help: "`driver` behind which congestion control runs: off, inline; soft, a soft NIC; " +
				"process, a " +
				"soft NIC in a process of its own. The agent is polled by a core of its own if " +
				"--cores names one"},
		{Name: "line-rate", Value: (*bitRate)(&s.LineRate), NoDefault: true,
			Help: "`rate` of the port, for --cc (default what the port reports, else 100Gb/s)"},
		{Name: "base-rtt", Value: (*duration)(&s.BaseRTT), NoDefault: true,
			Help: "round-trip `time` through empty queues, for --cc (default 20us; with --prio " +
				"it is measured)"},
	}
}

func (s *Settings) checkOffload(name string) error {
	if _, err := driver.Find(s.Offload); err != nil {
		return fmt.Errorf("%s %s: %w", name, s.Offload, err)
	}
	return nil
}
