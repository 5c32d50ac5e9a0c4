package perftest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every kind of control behind every driver, with and without a core for the agent.
func TestOffload(t *testing.T) {
	for _, driver := range []string{"soft", "process"} {
		for _, c := range []struct {
			test Test
			args string
		}{
			{sendBW, "-n 2000 -s 32 --cc swift"},
			{sendBW, "-n 500 -s 20000 -q 3 -b --cc swift --cc timely --cc ledbat --cores 0,0,1"},
			{writeBW, "-n 500 --cc swift --cc ledbat-dc -q 4 --prio 3,1 --cores 0,1,0,1"},
			{writeBW, "-n 500 --tocc unsch=0,k=4096"},
			{sendBW, "-n 300 --tocc k=8192,cc=swift --cc swift --cores 0,0,1"},
			{writeBW, "-n 500 -q 5 --queues 2 --cc timely --cores 0,1,0,1,1"},
			{readBW, "-n 300 --cc swift --cores 0,1,0"},
			{writeLat, "-n 300 -s 20000 --cc swift"},
		} {
			t.Run(driver+" "+c.test.Name()+" "+c.args, func(t *testing.T) {
				args := append(strings.Fields(c.args), "--offload", driver, "--data_validation")
				o := do(t, c.test, args...)
				for range 4 { // an agent whose processor others have is silent for 100 ms
					if !strings.Contains(o.errors, "its agent is silent") {
						break
					}
					o = do(t, c.test, args...)
				}
				require.Zero(t, o.code, "%s: %s", strings.Join(args, " "), o.errors)
				require.Empty(t, o.errors)
				require.Contains(t, o.out, " offload "+driver+": ")
			})
		}
	}
}

// The process of a device is killed under load: messages continue, a new process takes over, and
// the summary counts it.
func TestOffloadProcessKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.json")
	p := start(t, sendBW, "-d", "loop:killed", "-s", "32", "-D", "3", "--cc", "swift", "--offload",
		"process", "--out_json_file", file)
	p.says("#bytes")
	children := childrenOf(t, p.Process.Pid)
	require.Len(t, children, 2, "one of each end")
	for _, pid := range children {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	require.Zero(t, p.ends(patience), p.result())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	d := parseDocument(t, string(text))
	require.Equal(t, "process", d.Offload.Driver)
	require.NotZero(t, d.Offload.Silences, "no decisions for 100 ms")
	require.NotZero(t, d.Offload.Returns, "a new process took over")
	require.NotZero(t, d.Results[0].MsgRate)
}

func childrenOf(t *testing.T, pid int) (children []int) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil { // the thread ended
			continue
		}
		for _, word := range strings.Fields(string(text)) {
			var child int
			_, err := fmt.Sscan(word, &child)
			require.NoError(t, err)
			children = append(children, child)
		}
	}
	return children
}
