package eal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArgs(t *testing.T) {
	plain := Machine{CPUs: "0-3", PID: 7}
	huge := Machine{CPUs: "2,4", PID: 7, FreeHugeMiB: 512}
	for _, c := range []struct {
		name    string
		config  Config
		machine Machine
		want    string
	}{
		{"nothing at all", Config{}, plain,
			"--lcores=0@(0-3) --no-huge --no-shconf -m 1024 --no-telemetry --file-prefix=goroce7 " +
				"--no-pci"},
		{"hugepages", Config{}, huge,
			"--lcores=0@(2,4) --in-memory -m 64 --no-telemetry --file-prefix=goroce7 --no-pci"},
		{"too few hugepages", Config{Memory: 600}, huge,
			"--lcores=0@(2,4) --no-huge --no-shconf -m 600 --no-telemetry --file-prefix=goroce7 " +
				"--no-pci"},
		{"hugepages not wanted", Config{NoHuge: true, Memory: 10, Name: "x"}, huge,
			"--lcores=0@(2,4) --no-huge --no-shconf -m 10 --no-telemetry --file-prefix=x --no-pci"},
		{"a NIC", Config{PCI: []string{"0000:3b:00.0"}}, huge,
			"--lcores=0@(2,4) --in-memory -m 64 --no-telemetry --file-prefix=goroce7 " +
				"--allow=0000:3b:00.0"},
		{"the escape hatch wins",
			Config{ExtraArgs: " -l 1 --no-huge -m200  --file-prefix=y -a 00:01.0"}, huge,
			"--no-telemetry -l 1 --no-huge -m200 --file-prefix=y -a 00:01.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.config.Args(c.machine)
			require.NoError(t, err)
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

// Each of these would end or hang the process.
func TestArgsRefused(t *testing.T) {
	for _, extra := range []string{"-h", "-vh", "--help", "--hel", "--he", "--log-level=help",
		"--log-level help",
		"--log-l=help", "--proc-type=secondary", "--proc-type auto", "--proc-t=secondary", "--",
		"a\x00b"} {
		_, err := Config{ExtraArgs: extra}.Args(Machine{})
		require.ErrorIs(t, err, ErrArgs, extra)
	}
}

func TestFreeHugeMiB(t *testing.T) {
	root := t.TempDir()
	for size, free := range map[string]string{"2048kB": "10\n", "1048576kB": "1\n"} {
		dir := filepath.Join(root, "hugepages-"+size)
		require.NoError(t, os.Mkdir(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "free_hugepages"), []byte(free), 0o644))
	}
	require.Equal(t, 20+1024, freeHugeMiB(root))
	require.Zero(t, freeHugeMiB(filepath.Join(root, "nowhere")))
}

// argsEnv makes the test binary start EAL with arguments instead of running its tests.
const argsEnv = "GOROCE_EAL_TEST_ARGS"

func TestMain(m *testing.M) {
	if args, child := os.LookupEnv(argsEnv); child {
		os.Exit(startBadly(args))
	}
	os.Exit(m.Run())
}

// TestInitErrors starts a process for each bad argument, since EAL starts once. Init must return
// EAL's reason and print nothing by itself.
func TestInitErrors(t *testing.T) {
	for args, reason := range map[string]string{
		"--bogus":                  "bogus",
		"-m":                       "requires an argument",
		"--lcores zz":              "lcores",
		"--lcores 0@999":           "lcores",
		"-l 99":                    "lcore",
		"--iova-mode xx":           "iova-mode",
		"--vdev=net_bogus0":        "net_bogus0",
		"-d /nonexist.so":          "/nonexist.so",
		"--in-memory --legacy-mem": "not compatible",
		"--file-prefix=%s":         "file-prefix",
		"-a zz":                    "zz",
		"--no-huge -m 99999999":    "memory",
	} {
		t.Run(args, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), argsEnv+"="+args)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			first, _, _ := strings.Cut(string(out), "\n")
			t.Log(first)
			require.True(t, strings.HasPrefix(first, "error: eal: start: "), "%s", out)
			require.Contains(t, first, reason)
		})
	}
}

// startBadly is the other process of TestInitErrors: it starts EAL with args, prints the error, and
// returns the exit code: 0 if that and a second start failed.
func startBadly(args string) int {
	err := InitWith(Config{NoHuge: true, Memory: 64, ExtraArgs: args})
	fmt.Printf("error: %v\n", err)
	again := InitWith(Config{})
	switch {
	case err == nil, Started():
		fmt.Println("EAL started")
		return 1
	case again == nil, !strings.Contains(again.Error(), "an earlier start failed"):
		fmt.Printf("second start: %v, want an earlier start failed\n", again)
		return 1
	}
	return 0
}

func TestInitOnceAndRegister(t *testing.T) {
	if Started() {
		t.Skip("EAL starts once per process, and an earlier run of this test (-count) started it")
	}
	_, err := Register(AnyCPU)
	require.ErrorIs(t, err, ErrNotStarted)
	require.ErrorIs(t, InitWith(Config{ExtraArgs: "--help"}), ErrArgs)
	require.NoError(t, InitWith(Config{NoHuge: true, Memory: 64}),
		"what EAL never saw may be corrected")
	require.ErrorIs(t, InitWith(Config{}), ErrStarted)
	require.True(t, Started())

	thread, err := Register(AnyCPU)
	require.NoError(t, err)
	require.Positive(t, thread.LCore(), "0 is EAL's main thread")
	thread.Unregister()
	_, err = Register(100000)
	require.ErrorContains(t, err, "no CPU 100000")
	_, err = Register(1000)
	require.ErrorContains(t, err, "pin thread to CPU 1000")
	for range 300 { // ids are reused
		thread, err := Register(0)
		require.NoError(t, err)
		thread.Unregister()
	}
}

func TestCallWrapsErrors(t *testing.T) {
	require.NoError(t, Call("x", func() error { return nil }))
	err := Call("do it", func() error { return os.ErrInvalid })
	require.ErrorIs(t, err, os.ErrInvalid)
	require.EqualError(t, err, "do it: invalid argument")
}
