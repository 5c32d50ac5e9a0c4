package perftest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/goroce/goroce/internal/cli"
)

// extras are the values of flags that are not settings.
type extras struct {
	help, version, outJSON bool
	jsonFile               string
	ccHelp                 string
	channelsHelp           bool
	admissionHelp          admissionHelp
	notes, refused         []string // on flags of perftest's
}

// parse parses a command line.
func parse(t Test, args []string) (*Settings, error) {
	s, x := defaults(t), &extras{}
	all := s.table(x).FlagSet(t.Name())
	cli.NormalizeFlags(all)
	if err := all.Parse(args); err != nil {
		return nil, err
	}
	return s, s.settle(all, x, all.Args())
}

// settle completes and validates the settings after their flags have been parsed. A request for an
// explanation is an error.
func (s *Settings) settle(all *pflag.FlagSet, x *extras, rest []string) error {
	switch {
	case x.ccHelp != ccHelpUnset:
		return ccHelp(x.ccHelp)
	case x.channelsHelp:
		return channelsHelp{s.Channels, s.examplePath()}
	case x.admissionHelp.print != nil:
		return x.admissionHelp
	case all.Changed("channels") && len(s.Priorities) == 0:
		return errors.New("--channels: no queue pair has a priority; add --prio")
	}
	switch len(rest) {
	case 0:
	case 1:
		s.Host = rest[0]
	default:
		return fmt.Errorf("%s: want at most one server", strings.Join(rest, " "))
	}
	if x.outJSON || all.Changed("out_json_file") {
		s.JSONFile = x.jsonFile
		if s.JSONFile == "" {
			return errors.New("--out_json_file: empty name")
		}
	}
	if s.inProcess() && !all.Changed("qp-timeout") {
		// A loop loses nothing, but a busy machine may keep the peer off its core for longer than
		// all retries on a network take.
		s.QPTimeout = loopQPTimeout
	}
	if s.Work > 0 && s.Test.Kind == Bandwidth && !all.Changed("rx-depth") {
		s.RxDepth = s.workDepth()
	}
	s.notes, s.defaultSize = x.notes, !all.Changed("size")
	s.complete()
	p := new(problems)
	for _, sentence := range x.refused {
		p.when(true, "%s", sentence)
	}
	s.validateRate(p, all.Changed("cc"))
	return errors.Join(append(*p, s.validate())...)
}
