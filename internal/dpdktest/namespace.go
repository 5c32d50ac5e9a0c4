package dpdktest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// insideEnv is set in the process that InNamespace starts.
const insideEnv = "GOROCE_TEST_NETNS"

// A Test is a subtest of InNamespace.
type Test struct {
	Name string
	Run  func(*testing.T)
}

// InNamespace runs subtests of a top-level test in a network namespace of their own, in another
// process. Root may make a namespace and, on most machines, any user. InNamespace skips the test if
// that fails, or if the command ip is not installed.
func InNamespace(t *testing.T, tests ...Test) {
	t.Helper()
	Requires(t, "ip")
	if os.Getenv(insideEnv) != "" {
		for _, x := range tests {
			t.Run(x.Name, x.Run)
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(),
			Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(),
			Size: 1}}
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skip("the system does not permit a network namespace: ", err)
	}
	err := cmd.Wait()
	t.Log(out.String())
	require.NoError(t, err)
	for _, x := range tests { // each ran: a missing command is the only reason to leave one out
		require.Regexp(t, "--- (PASS|SKIP): "+t.Name()+"/"+x.Name+" ", out.String())
	}
	require.Contains(t, out.String(), "    --- PASS: ", "every test was left out")
}

// Requires skips the test unless the commands of these names are installed.
func Requires(t *testing.T, commands ...string) {
	t.Helper()
	for _, c := range commands {
		if _, err := exec.LookPath(c); err != nil {
			t.Skip("the test needs a command: ", err)
		}
	}
}
