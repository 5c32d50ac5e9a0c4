package perftest

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/nicoffload/process"
)

// asProgram makes the test binary act as one of the programs: tests of two processes start it
// again.
const asProgram = "GOROCE_PERFTEST_AS"

var everyTest = []Test{
	{Write, Bandwidth}, {Write, Latency}, {Read, Bandwidth}, {Read, Latency},
	{Send, Bandwidth}, {Send, Latency}, {Atomic, Bandwidth}, {Atomic, Latency},
}

func testNamed(name string) (Test, bool) {
	for _, t := range everyTest {
		if t.Name() == name {
			return t, true
		}
	}
	return Test{}, false
}

func TestMain(m *testing.M) {
	process.BeChild()
	if t, ok := testNamed(os.Getenv(asProgram)); ok {
		Main(t.Verb, t.Kind) // does not return
	}
	os.Exit(m.Run())
}

var notWord = regexp.MustCompile(`\W+`)

// outcome is the result of a run in this process.
type outcome struct {
	code        int
	out, errors string
}

// do runs a test on a loop of its own.
func do(t testing.TB, test Test, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"-d", "loop:" + notWord.ReplaceAllString(t.Name(), "_")}, args...)
	code := Run(t.Context(), test, args, &out, &errs)
	return outcome{code, out.String(), errs.String()}
}

// succeed is do for a run that must succeed.
func succeed(t testing.TB, test Test, args ...string) string {
	t.Helper()
	o := do(t, test, args...)
	require.Zero(t, o.code, "%s %s: %s", test.Name(), strings.Join(args, " "), o.errors)
	require.Empty(t, o.errors)
	return o.out
}
