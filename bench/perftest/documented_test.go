package perftest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documented is a command line of these programs in a code block of the README or of a page. A
// comment, if there is one, follows after two blanks.
var documented = regexp.MustCompile(
	`(?m)^(?: {4}| {8})bin/(roce_\w+_(?:bw|lat)) ([^#\n&]*)(?:#.*|&.*)?$`)

// Every documented command line is valid. Those on loop: run, for at most a fifth of a second.
func TestDocumentedCommands(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	ran := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range documented.FindAllStringSubmatch(string(text), -1) {
			test, ok := testNamed(m[1])
			require.True(t, ok, "%s: %s", page, m[0])
			args := strings.Fields(m[2])
			if strings.Contains(m[2], "…") {
				continue // an ellipsis is not a command
			}
			t.Run(filepath.Base(page)+" "+m[1]+" "+strings.TrimSpace(m[2]), func(t *testing.T) {
				if strings.Contains(m[2], "--help") || strings.Contains(m[2], " help") ||
					strings.Contains(m[2], "-d loop:") && !strings.Contains(m[2], "--cores") {
					ran++
					var out, errs bytes.Buffer
					require.Zero(t, Run(t.Context(), test, brief(args), &out, &errs), errs.String())
					require.NotEmpty(t, out.String())
					return
				}
				_, err := parse(test, args)
				require.NoError(t, err, m[0])
			})
		}
	}
	require.Greater(t, ran, 10)
}

// brief shortens a run.
func brief(args []string) []string {
	var all []string
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-D":
			all = append(all, "-D", "0.2")
			i++
		case "-n":
			all = append(all, "-n", "200")
			i++
		case "-a":
			all = append(all, "-s", "65536")
		default:
			all = append(all, args[i])
		}
	}
	return all
}
