package perftest

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/prioplus"
	"github.com/goroce/goroce/units"
)

// channels is a flag: the table of virtual priorities, or a request for help.
type channels struct {
	table *prioplus.Channels
	help  *bool
}

// Set parses a table.
func (c *channels) Set(v string) error {
	if v == "help" {
		*c.help = true
		return nil
	}
	table, err := prioplus.ParseChannels(v)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "prioplus: "))
	}
	*c.table = table
	return nil
}

func (c *channels) String() string { return c.table.String() }

// Type returns the argument's name for --help.
func (c *channels) Type() string { return "table" }

// channelsHelp is the error of a command line that requests help on --channels. It has the table
// given.
type channelsHelp struct {
	prioplus.Channels
	path cc.Path
}

func (channelsHelp) Error() string { return "help requested: --channels" }

// write prints the help.
func (h channelsHelp) write(w io.Writer) error {
	if err := prioplus.Help(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%v at %v, base round trip %v:\n", h.Channels, h.path.LineRate, h.path.BaseRTT)
	return h.Table(w, h.path)
}

// examplePath returns the path of the table that --channels=help prints.
func (s *Settings) examplePath() cc.Path {
	p := cc.Path{LineRate: s.LineRate, BaseRTT: s.BaseRTT, Payload: units.Bytes(s.MTU)}
	if p.LineRate == 0 {
		p.LineRate = defLineRate
	}
	if p.BaseRTT == 0 {
		p.BaseRTT = defBaseRTT
	}
	if p.Payload == 0 {
		p.Payload = 4096
	}
	return p
}

// controlOf returns the congestion control of a queue pair, with its virtual priority of --prio.
// The DSCP does not depend on it.
func (s *Settings) controlOf(number int) cc.Factory {
	if s.instrument != nil {
		return s.instrument
	}
	spec := s.Congestion.of(number)
	if len(s.Priorities) == 0 {
		return spec
	}
	channels := s.Channels
	if s.BaseRTT == 0 {
		channels = channels.Measured()
	}
	return prioplus.Spec{Inner: spec, Channels: channels,
		Priority: s.Priorities[number%len(s.Priorities)]}
}

// controls formats --cc, --prio and --channels.
func (s *Settings) controls() string {
	if len(s.Priorities) == 0 {
		return s.Congestion.String()
	}
	prios := strings.Trim(fmt.Sprint(s.Priorities), "[]")
	return fmt.Sprintf("%v with priorities %s of %v", s.Congestion,
		strings.ReplaceAll(prios, " ", ", "), s.Channels)
}
