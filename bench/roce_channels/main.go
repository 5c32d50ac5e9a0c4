// Command roce_channels measures the parameters of PrioPlus for the path to a peer over a DPDK
// port: the base round-trip time, the noise of its delays, and from these the table of channels
// (section 4.3.2 of the paper). See --help.
//
// It runs the congestion control of bench/channels in the session of a bandwidth test
// (bench/perftest).
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goroce/goroce/bench/channels"
	"github.com/goroce/goroce/bench/perftest"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/units"
)

func main() { newProgram().Main() }

// program holds the flags and the instrument of a run.
type program struct {
	gauge   channels.Gauge
	wanted  channels.Wanted
	inner   string
	baseRTT string
	json    string
}

func newProgram() *perftest.Instrument {
	p := &program{inner: "swift", wanted: channels.Wanted{Priorities: 8, Flows: 150}}
	return &perftest.Instrument{
		Name: "roce_channels",
		What: "measures the parameters of PrioPlus for an idle path: base round-trip time, noise " +
			"of the delay, A and B,\n" +
			"and the resulting table of channels (docs/prioplus.md). Half of the messages, with " +
			"a probe each, form a\n" +
			"ping-pong, which determines B; the others form a stream at a tenth of the line " +
			"rate, which shows how well the\n" +
			"filter of two samples works on hosts that stall. It also reports whether the hosts' " +
			"poll gaps make delays too\n" +
			"uncertain for the channels (docs/hosts.md).",
		Messages: 40000, Flags: p.flags, Control: p.control, Report: p.report,
	}
}

func (p *program) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "priorities", Value: &p.wanted.Priorities,
			Help: "`number` of priorities in the table"},
		{Name: "flows", Value: &p.wanted.Flows,
			Help: "`number` of flows of one priority for which A is sufficient"},
		{Name: "cc", Value: &p.inner,
			Help: "`algorithm` inside PrioPlus: swift, with parameters; its W_AI determines A"},
		{Name: "options", Value: &p.wanted.Options,
			Help: "further `parameters` of the table, such as room=on,patience=20 " +
				"(docs/prioplus.md)"},
		{Name: "base-rtt", Value: &p.baseRTT,
			Help: "base round-trip `time` of a full packet (default the measured minimum)"},
		{Name: "json", Value: &p.json,
			Help: "write the result as JSON to this `file`, or with - to standard output in " +
				"place of the text"},
	}
}

// control validates the flags and returns the instrument.
func (p *program) control(messages int) (cc.Factory, error) {
	var err error
	if p.wanted.Inner, err = cc.Parse(p.inner); err != nil {
		return nil, fmt.Errorf("--cc %s: %s", p.inner, strings.TrimPrefix(err.Error(), "cc: "))
	}
	if err := p.wanted.Check(); err != nil {
		return nil, err
	}
	if p.baseRTT != "" {
		if p.gauge.BaseRTT, err = units.ParseDuration(p.baseRTT); err != nil ||
			p.gauge.BaseRTT <= 0 {
			return nil, errors.Join(fmt.Errorf("--base-rtt %s: want a duration such as 12us",
				p.baseRTT), err)
		}
	}
	p.gauge.Samples = messages / 2
	return &p.gauge, nil
}

// report prints the results.
func (p *program) report(stdout io.Writer) error {
	s, err := p.gauge.Survey(p.wanted)
	if err != nil {
		return err
	}
	switch p.json {
	case "":
		return s.Write(stdout)
	case "-":
	default:
		if err := s.Write(stdout); err != nil {
			return err
		}
	}
	d, err := s.Document()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if p.json == "-" {
		_, err = stdout.Write(text)
		return err
	}
	return os.WriteFile(p.json, text, 0o644)
}
