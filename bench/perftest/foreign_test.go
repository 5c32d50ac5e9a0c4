package perftest

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/flags.txt and docs/perftest.md")

const (
	flagList = "testdata/flags.txt"
	manual   = "../../docs/perftest.md"
)

// helpFlag is a line of perftest's --help that declares a flag.
var helpFlag = regexp.MustCompile(`^\s*(?:-(\w), )?--([A-Za-z][\w-]*)`)

// helpFlags returns the flags in the --help of an installed program of perftest.
func helpFlags(t *testing.T, program string) (flags []string) {
	// In some versions the exit code of --help is 1.
	help, _ := exec.Command(program, "--help").CombinedOutput()
	for l := range strings.Lines(string(help)) {
		if m := helpFlag.FindStringSubmatch(l); m != nil {
			name := m[2]
			if m[1] != "" {
				name += ",-" + m[1]
			}
			flags = append(flags, name)
		}
	}
	require.NotEmpty(t, flags, program)
	return flags
}

// perftestFlags returns perftest's flags from testdata, with their programs.
func perftestFlags(t *testing.T) map[string][]string {
	f, err := os.Open(flagList)
	require.NoError(t, err)
	defer f.Close()
	flags := map[string][]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 1 && fields[0] != "#" {
			flags[fields[0]] = fields[1:]
		}
	}
	return flags
}

// The list in testdata agrees with the installed perftest's help.
func TestPerftestFlagList(t *testing.T) {
	if _, err := exec.LookPath("ib_write_bw"); err != nil {
		t.Skip("perftest is not installed (scripts/setup); the other tests use " + flagList)
	}
	flags := map[string][]string{}
	for _, test := range everyTest {
		program := strings.Replace(test.Name(), "roce", "ib", 1)
		for _, f := range helpFlags(t, program) {
			flags[f] = append(flags[f], program)
		}
	}
	if !*update {
		require.Equal(t, flags, perftestFlags(t), "-run Perftest -update rewrites "+flagList)
		return
	}
	b := new(strings.Builder)
	fmt.Fprintln(b, "# flags of perftest's programs, from --help of Debian 12's; made by -update")
	for _, f := range sortedKeys(flags) {
		fmt.Fprintln(b, f, strings.Join(flags[f], " "))
	}
	require.NoError(t, os.WriteFile(flagList, []byte(b.String()), 0o644))
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// differences are remarks on flags that are supported with a different meaning.
var differences = map[string]string{
	"all":             "of -c UD: up to the MTU",
	"events":          "the polling core naps, as with --idle sleep",
	"gid-index":       "the table is soft-RoCE's: 0, link-local; 1 and up, the --ip addresses",
	"ib-dev":          "a port's URL: [ports.md](ports.md)",
	"limit_msgrate":   "also without -w",
	"rate_limit":      "HW: the transport paces; SW: as perftest",
	"rate_limit_type": "PP is HW in kb/s",
	"report-unsorted": "of roce_*_lat; otherwise without effect: a bandwidth test keeps no samples",
	"perform_warm_up": "write, read and atomic bandwidth; otherwise without effect",
	"run_infinitely":  "each end prints the direction that it sends",
	"use-srq":         "a shared queue for each polling core",
	"version":         "with the commit, DPDK and Go",
	"connection":      "RC, UC or UD",
	"out_json":        "with a row for each size",
}

// Each flag of perftest is supported, has no effect, or is refused, and docs/perftest.md says so.
func TestPerftestFlagsAreKnown(t *testing.T) {
	var rows strings.Builder
	fmt.Fprint(&rows, "| flag | here | remark |\n|---|---|---|\n")
	for _, entry := range sortedKeys(perftestFlags(t)) {
		name, short, _ := strings.Cut(entry, ",-")
		flag := "`--" + name + "`"
		if short != "" {
			flag = "`-" + short + "`, " + flag
		}
		here, remark := "supported", differences[name]
		for _, program := range perftestFlags(t)[entry] {
			test, ok := testNamed(strings.Replace(program, "ib", "roce", 1))
			require.True(t, ok)
			f := defaults(test).table(&extras{}).FlagSet("x").Lookup(name)
			require.NotNil(t, f, "%s --%s", program, name)
			require.Equal(t, short, f.Shorthand, "%s --%s", program, name)
			if v, foreign := f.Value.(foreignValue); foreign && differences[name] == "" {
				here, remark = v.status(), v.why
			}
		}
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", flag, here, remark)
	}
	text, err := os.ReadFile(manual)
	require.NoError(t, err)
	const begin, end = "<!-- flags: made by a test -->\n", "<!-- end of flags -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, ok2 := strings.Cut(rest, end)
	require.True(t, ok && ok2, "%s has no %s", manual, begin)
	if *update {
		whole := before + begin + rows.String() + end + after
		require.NoError(t, os.WriteFile(manual, []byte(whole), 0o644))
		return
	}
	require.Equal(t, rows.String(), table, "-run Perftest -update rewrites "+manual)
}

// status describes in a word what a flag does.
func (f *foreignFlag) status() string {
	switch {
	case f.refused:
		return "refused"
	case len(f.accepts) > 0:
		return "only " + f.accepts[0]
	}
	return "no effect"
}
