// Command roce_channels measures what PrioPlus must be told of the way to a peer over a DPDK port:
// the base round trip, the noise of its delays, and with them the table of channels (section 4.3.2
// of the paper). See --help.
//
// The session is that of a bandwidth test (bench/perftest), the instrument a congestion control
// (bench/channels).
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/goroce/goroce/bench/channels"
	"github.com/goroce/goroce/bench/perftest"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/units"
)

func main() { newProgram().Main() }

// program is one run.
type program struct {
	gauge   channels.Gauge
	wanted  channels.Wanted
	inner   string
	baseRTT string
	json    string
}

func newProgram() *perftest.Instrument {
	p := &program{}
	return &perftest.Instrument{
		Name: "roce_channels",
		What: "measures what PrioPlus must be told of an idle path: base round trip, noise of " +
			"the delay, A and B,\n" +
			"and the table of channels that follows (docs/prioplus.md). Half of the messages and " +
			"as many probes go as a\n" +
			"ping-pong, which B is of; the others as a stream of a tenth of the line rate, which " +
			"shows what the filter of\n" +
			"two samples is worth on hosts that stall. It also says whether the hosts' poll gaps " +
			"leave delays too uncertain for\n" +
			"the channels (docs/hosts.md).",
		Messages: 40000, Flags: p.flags, Control: p.control, Report: p.report,
	}
}

func (p *program) flags(f *pflag.FlagSet) {
	f.IntVar(&p.wanted.Priorities, "priorities", 8, "`number` of priorities in the table")
	f.IntVar(&p.wanted.Flows, "flows", 150,
		"`number` of flows of one priority that A is wide enough for")
	f.StringVar(&p.inner, "cc", "swift",
		"`algorithm` inside PrioPlus: swift, with parameters; A is its W_AI's")
	f.StringVar(&p.wanted.Options, "options", "",
		"more `parameters` of the table, such as room=on,patience=20 (docs/prioplus.md)")
	f.StringVar(&p.baseRTT, "base-rtt", "", "`time` to take for the base round trip of a full "+
		"packet (default the least that is measured)")
	f.StringVar(&p.json, "json", "",
		"write the result as JSON to this `file`; - for standard output, in place of the text")
}

// control reads the flags and answers the instrument.
func (p *program) control(messages int) (cc.Control, error) {
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
			return nil, errors.Join(fmt.Errorf("--base-rtt %s: want a length of time, such as 12us",
				p.baseRTT), err)
		}
	}
	p.gauge.Samples = messages / 2
	return &p.gauge, nil
}

// report prints what was measured.
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
