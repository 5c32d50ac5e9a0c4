package program

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goroce/goroce/bench/channels"
	"github.com/goroce/goroce/bench/perftest"
	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/units"
)

// Main is the program.
func Main() { newProgram().Main() }

// maxPriorities is the largest table that prioplus.Channels accepts.
const maxPriorities = 256

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
		What: `measures the parameters of PrioPlus for an idle path: base round-trip time, noise
of the delay, A and B, and the resulting table of channels (docs/prioplus.md). Half of the messages,
with a probe each, form a ping-pong, which determines B; the others form a stream at a tenth of the
line rate, which shows how well the filter of two samples works on hosts that stall. It also reports
whether the hosts' poll gaps make delays too uncertain for the channels (docs/hosts.md).`,
		Messages: 40000, Flags: p.flags, Control: p.control, Report: p.report,
	}
}

func (p *program) flags() []cli.Flag {
	return []cli.Flag{
		{Name: "priorities", Value: &p.wanted.Priorities, Bounds: cli.Within(1, maxPriorities),
			Help: "`number` of priorities in the table"},
		{Name: "flows", Value: &p.wanted.Flows, Bounds: cli.AtLeast(1),
			Help: "`number` of flows of one priority for which A is sufficient"},
		{Name: "cc", Value: &p.inner, Check: p.readInner,
			Help: "`algorithm` inside PrioPlus: swift, with parameters; its W_AI determines A"},
		{Name: "options", Value: &p.wanted.Options,
			Help: "further `parameters` of the table, such as room=on,patience=20 " +
				"(docs/prioplus.md)"},
		{Name: "base-rtt", Value: &p.baseRTT, Check: p.readBaseRTT,
			Help: "base round-trip `time` of a full packet (default the measured minimum)"},
		{Name: "json", Value: &p.json, Check: p.checkJSON,
			Help: "write the result as JSON to this `file`, or with - to standard output in " +
				"place of the text"},
	}
}

func (p *program) readInner(name string) (err error) {
	if p.wanted.Inner, err = cc.Parse(p.inner); err != nil {
		return fmt.Errorf("%s %s: %s", name, p.inner, strings.TrimPrefix(err.Error(), "cc: "))
	}
	return nil
}

func (p *program) readBaseRTT(name string) (err error) {
	if p.baseRTT == "" {
		return nil
	}
	if p.gauge.BaseRTT, err = units.ParseDuration(p.baseRTT); err != nil || p.gauge.BaseRTT <= 0 {
		return fmt.Errorf("%s %s: want a duration such as 12us", name, p.baseRTT)
	}
	return nil
}

func (p *program) checkJSON(name string) error {
	if p.json == "" || p.json == "-" {
		return nil
	}
	if _, err := os.Stat(filepath.Dir(p.json)); err != nil {
		return fmt.Errorf("%s %s: %w", name, p.json, err)
	}
	return nil
}

// control validates the parameters of the table and returns the instrument.
func (p *program) control(messages int) (cc.Factory, error) {
	if err := p.wanted.Check(); err != nil {
		return nil, err
	}
	p.gauge.Samples = messages / 2
	return &p.gauge, nil
}

// report prints the results.
func (p *program) report(stdout, stderr io.Writer) error {
	s, err := p.gauge.Survey(p.wanted)
	if err != nil {
		return err
	}
	if s.TooNoisy() {
		fmt.Fprintf(stderr, "roce_channels: warning: the hosts are too noisy for these "+
			"channels: %s\n", s.Advice())
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
