package perftest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Results of parsing that are not errors of the command line.
var (
	errHelp    = errors.New("help requested")
	errVersion = errors.New("version requested")
)

// extras are the values of flags that are not settings.
type extras struct {
	help, version, cpuFreq, outJSON bool
	jsonFile                        string
	ccHelp                          string
	channelsHelp                    bool
	admissionHelp                   admissionHelp
}

// parse parses a command line.
func parse(t Test, args []string) (*Settings, error) {
	s, x := defaults(t), &extras{}
	all := s.table(x).FlagSet(t.Name())
	all.SetNormalizeFunc(normalizeFlags(all))
	switch err := all.Parse(args); {
	case err != nil:
		return nil, suggestFlags(err, all)
	case x.help:
		return nil, errHelp
	case x.ccHelp != ccHelpUnset:
		return nil, ccHelp(x.ccHelp)
	case x.channelsHelp:
		return nil, channelsHelp{s.Channels, s.examplePath()}
	case x.admissionHelp.write != nil:
		return nil, x.admissionHelp
	case all.Changed("channels") && len(s.Priorities) == 0:
		return nil, errors.New("--channels: no queue pair has a priority; add --prio")
	case x.version:
		return nil, errVersion
	}
	switch rest := all.Args(); len(rest) {
	case 0:
	case 1:
		s.Host = rest[0]
	default:
		return nil, fmt.Errorf("%s: want at most one server", strings.Join(rest, " "))
	}
	if x.outJSON || all.Changed("out_json_file") {
		s.JSONFile = x.jsonFile
		if s.JSONFile == "" {
			return nil, errors.New("--out_json_file: empty name")
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
	s.complete()
	return s, s.validate()
}

// normalizeFlags accepts - for _ and vice versa, since perftest uses both.
func normalizeFlags(fs *pflag.FlagSet) func(*pflag.FlagSet, string) pflag.NormalizedName {
	fold := func(s string) string { return strings.ReplaceAll(s, "_", "-") }
	known := map[string]string{}
	fs.VisitAll(func(f *pflag.Flag) { known[fold(f.Name)] = f.Name })
	return func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if to, ok := known[fold(name)]; ok {
			name = to
		}
		return pflag.NormalizedName(name)
	}
}

// suggestFlags adds the flags with similar names to the error of an unknown flag.
func suggestFlags(err error, fs *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	var like []string
	fs.VisitAll(func(f *pflag.Flag) {
		alike := distance(strings.ToLower(name), strings.ToLower(f.Name)) <= 2
		if len(name) > 1 && (alike || strings.Contains(f.Name, name) || strings.Contains(name,
			f.Name)) {
			like = append(like, "--"+f.Name)
		}
	})
	if len(like) == 0 {
		return fmt.Errorf("%w; see --help", err)
	}
	return fmt.Errorf("%w; did you mean %s?", err, strings.Join(like, " or "))
}

// distance returns the Levenshtein distance of a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
