package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exposures are the largest exposure levels of systemd-analyze security, times ten, with drop-ins.
var exposures = map[string]string{"": "17", "af_packet.conf": "35", "vfio.conf": "30"}

func TestSystemd(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	for dropIn, exposure := range exposures {
		unit := install(t, dropIn)
		for _, args := range [][]string{{"verify", "--man=no"},
			{"security", "--offline=true", "--threshold=" + exposure}} {
			out, err := exec.Command("systemd-analyze", append(args, unit)...).CombinedOutput()
			require.NoError(t, err, "%v with %q:\n%s", args, dropIn, out)
			if args[0] == "verify" {
				require.Empty(t, string(out), "with %q", dropIn)
			}
		}
	}
}

// install copies the unit, with a program that exists, and a drop-in.
func install(t *testing.T, dropIn string) string {
	text, err := os.ReadFile("../systemd/roced.service")
	require.NoError(t, err)
	dir := t.TempDir()
	unit := filepath.Join(dir, "roced.service")
	runnable := strings.Replace(string(text), "/usr/local/bin/roced", "/bin/true", 1)
	require.NotEqual(t, string(text), runnable)
	if dropIn != "" { // offline, systemd-analyze does not read drop-ins
		more, err := os.ReadFile("../systemd/" + dropIn)
		require.NoError(t, err)
		runnable += "\n" + string(more)
	}
	require.NoError(t, os.WriteFile(unit, []byte(runnable), 0o600))
	return unit
}
