package dpdktest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const insideEnv = "GOROCE_TEST_NETNS"

// InNamespace runs the tests of this binary whose names begin with prefix in a network namespace of
// their own, which root may make and, on most machines, anybody.
func InNamespace(t *testing.T, prefix string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+prefix, "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), insideEnv+"="+prefix)
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
		t.Skip("no network namespace to be had: ", err)
	}
	err := cmd.Wait()
	t.Log(out.String())
	require.NoError(t, err)
	require.Contains(t, out.String(), "--- PASS: "+prefix)
}

// Inside skips the test unless InNamespace runs it and the tools it uses are there.
func Inside(t *testing.T, tools ...string) {
	t.Helper()
	if os.Getenv(insideEnv) == "" {
		t.Skip("runs in a namespace of its own, by another test")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
}
