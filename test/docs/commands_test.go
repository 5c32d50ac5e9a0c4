package docs

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var minutes = flag.Bool("minutes", false, "run the blocks of minutes, with the durations they name")

// prelude: every command must succeed. A reader types a request when the server is ready.
const prelude = `set -euo pipefail -m
ip link set lo up 2>/dev/null || true
pids=()
curl() { command curl --retry 30 --retry-delay 1 --retry-connrefused "$@"; }
`

// epilogue: programs in the background must end without an error, those that serve by Ctrl-C.
const epilogue = `
for pid in "${pids[@]}"; do
	for _ in {1..20}; do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
	code=0 interrupted=""
	kill -INT -- "-$pid" 2>/dev/null && interrupted=" 1 130" # go run exits with 1
	wait "$pid" || code=$?
	[[ " 0$interrupted " == *" $code "* ]] || { echo "in the background: exit $code"; exit 1; }
done
`

var (
	background = regexp.MustCompile(`(?m) &([ \t]*#.*)?$`)
	duration   = regexp.MustCompile(` -D [0-9]+`)
)

// run runs a block. What it has in /tmp is in a directory that blocks of one page share.
func run(t *testing.T, b block, limit time.Duration) {
	for _, m := range b.marks {
		program, needed := strings.CutPrefix(m, "needs=")
		if _, err := exec.LookPath(program); needed && err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	tmp := filepath.Join(source(t), ".tmp", filepath.Base(b.file))
	require.NoError(t, os.MkdirAll(tmp, 0o755))
	text := strings.ReplaceAll(b.text, "/tmp/", tmp+"/")
	text = background.ReplaceAllString(text, " & pids+=($$!)")
	if !*minutes {
		text = duration.ReplaceAllString(text, " -D 1")
	}
	bash(t, prelude+text+epilogue, limit)
}

// TestCommands runs each block without a mark.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute, and as many cores as there are")
	}
	for _, b := range commands(t) {
		limit, take := 3*time.Minute, true // on a busy machine
		for _, m := range b.marks {
			take = take && (strings.HasPrefix(m, "needs=") || m == "minutes" && *minutes)
		}
		if *minutes {
			limit = 30 * time.Minute
		}
		if take {
			t.Run(b.String(), func(t *testing.T) { run(t, b, limit) })
		}
	}
}

// checks replaces commands: programs of goroce parse their flags and print their help, make has
// the target, go looks for directories, and what is not goroce's is not run.
const checks = `set -euo pipefail
top=$PWD makefile=$(<Makefile)
fail() { echo "$@"; exit 1; }
for program in bin/*; do
	eval "function $program { help $program \"\$@\"; }"
done
declare -A seen=() # of lab's many lines one for each set of flags
help() {
	local program=$PWD/$1 before=() key=$*
	if [[ $1 == bin/lab ]]; then
		key="$1 $2"
		for arg; do [[ $arg != -* ]] || key+=" $arg"; done
	fi
	[[ -z ${seen[$key]:-} ]] || return 0
	seen[$key]=1
	shift
	while (($# > 0)) && [[ $1 != -- ]]; do before+=("$1"); shift; done
	"$program" "${before[@]}" --help >/dev/null || fail "$program ${before[*]}: exit $?"
}
make() {
	for arg; do
		[[ $arg == *=* || $makefile == *$'\n'"$arg:"* ]] || fail "make has no target $arg"
	done
}
go() { for arg; do [[ $arg != ./* || -e ${arg%/...} ]] || fail "go: no $arg"; done; }
scripts/busyhost() { :; }
sudo() { "$@"; }
kill() { :; }
command_not_found_handle() { [[ $1 != */* || -e $1 ]] || { echo "no $1"; return 1; }; }
PATH=/nonexistent
`

var (
	span = regexp.MustCompile("`((?:bin/|make )[^`]*)`")
	// incomplete are commands with something that the reader replaces, and files.
	incomplete = regexp.MustCompile(`…|\.\.\.|[A-Z]{3,}\b|^bin/[a-z]*(/|\.|$)|\{`)
)

// TestMarkedCommands checks the blocks that are not run, and commands within sentences and tables:
// programs, flags, targets and paths exist.
func TestMarkedCommands(t *testing.T) {
	var script strings.Builder
	for _, b := range commands(t) {
		if len(b.marks) > 0 && !b.is("placeholder") {
			script.WriteString(b.text + "\ncd \"$top\"\n")
		}
	}
	files, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	n := 0
	for _, f := range append(files, root+"/README.md") {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, m := range span.FindAllStringSubmatch(string(text), -1) {
			if !incomplete.MatchString(m[1]) {
				script.WriteString(strings.Join(strings.Fields(m[1]), " ") + "\n")
				n++
			}
		}
	}
	require.Greater(t, n, 20)
	bash(t, checks+script.String(), 5*time.Minute) // on a busy machine
}
