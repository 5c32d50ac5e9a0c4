package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/bench/channels"
	"github.com/goroce/goroce/bench/perftest"
	"github.com/goroce/goroce/internal/cli"
)

// asServer makes the test binary act as the other end of a memif: port, as this program or
// roce_write_bw.
const asServer = "GOROCE_CHANNELS_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(asServer) {
	case "roce_channels":
		Main()
	case "roce_write_bw":
		perftest.Main(perftest.Write, perftest.Bandwidth)
	}
	runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0))) // polling cores never release their Ps
	os.Exit(m.Run())
}

// measure runs the program and returns its output. A busy machine is too noisy for narrow channels,
// and the program warns of it.
func measure(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Zero(t, newProgram().Run(t.Context(), args, &out, &errs), errs.String())
	for line := range strings.Lines(errs.String()) {
		require.Contains(t, line, "roce_channels: warning: the hosts are too noisy")
	}
	return out.String()
}

func TestLoop(t *testing.T) {
	out := measure(t, "-d", "loop:"+t.Name(), "-n", "2000", "--priorities", "12", "--line-rate",
		"10Gb/s", "--options", "room=on")
	assert.Regexp(t, `(?m)^ +probe +1000 .*\n +data +1000 .*\n +stream +\d+ `, out)
	assert.Regexp(t, `A = 132\.8us, B = \S+, A\+B = \S+`, out,
		"1.8 * 150 * 0.15 packets of 3.2768 us")
	assert.Contains(t, out, "\n11        high ")
	assert.Regexp(t,
		`\n\d+ % of the noise is within poll gaps, and PrioPlus does not act on it; `+
			`gaps: p50 \S+, p99 \S+ here; p50 \S+, p99 \S+ at the peer\n`, out)
	assert.Regexp(t, `\nsamples uncertain by more than a channel's width of \S+: \d+ of \d+ `, out)
	assert.Regexp(t,
		`\n--channels n=12,a=132\.8us,b=\S+,eps=\S+,room=on --base-rtt \S+ --line-rate 10Gb/s\n$`,
		out)
}

func TestJSON(t *testing.T) {
	args := []string{"-d", "loop:" + t.Name(), "-n", "200", "--base-rtt", "50us"}
	check := func(text []byte) {
		var d channels.Document
		require.NoError(t, json.Unmarshal(text, &d), string(text))
		assert.Equal(t, 50.0, d.BaseRTT)
		assert.Equal(t, 100, d.Noise["probe"].Samples)
		assert.Len(t, d.Table, 8)
		assert.InDelta(t, 50+d.A+d.B, d.Table[0].Target, 1e-6)
		assert.InDelta(t, d.A+d.B, d.Hosts.Width, 1e-6)
		assert.NotNil(t, d.Hosts.There)
		assert.Equal(t, d.Hosts.TooNoisy, d.Hosts.Advice != "")
	}
	check([]byte(measure(t, append(args, "--json", "-")...)))
	file := filepath.Join(t.TempDir(), "channels.json")
	assert.Contains(t, measure(t, append(args, "--json", file)...), "--base-rtt 50us")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	check(text)
}

// The server may be this program, roce_write_bw, or one that uses linux-rdma's handshake and no
// goroce extension: then a probe is a zero-length WRITE.
func TestServers(t *testing.T) {
	for _, c := range []struct {
		server string
		args   []string // of the server
		extra  []string // of the client
	}{
		{"roce_channels", nil, nil},
		{"roce_write_bw", []string{"-s", "4096"}, nil},
		{"roce_write_bw", []string{"-s", "1024", "-m", "1024"}, []string{"-m", "1024"}},
		{"roce_write_bw", []string{"-s", "4096"}, []string{"--upstream"}},
	} {
		t.Run(fmt.Sprint(c.server, c.extra), func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
			require.NoError(t, l.Close())
			dir, err := os.MkdirTemp("", "channels") // t.TempDir is too long for a socket path
			require.NoError(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			url := "memif:" + filepath.Join(dir, "m.sock")
			common := []string{"-n", "200", "-p", port, "--connect-timeout", "20s", "-u", "18"}
			server := exec.Command(os.Args[0], append(append(common[:8:8], "-d", url),
				c.args...)...)
			server.Env = append(os.Environ(), asServer+"="+c.server)
			server.Stderr = os.Stderr
			require.NoError(t, server.Start())
			t.Cleanup(func() { _ = server.Process.Kill() })
			out := measure(t, append(append(append(common[:8:8], "-d", url+",client"), c.extra...),
				"localhost")...)
			require.NoError(t, server.Wait())
			assert.Regexp(t, `(?m)^ +probe +100 .*\n +data +100 `, out)
			if c.extra != nil && c.extra[0] == "-m" {
				assert.Contains(t, out, "base round trip of a full packet (1024 bytes of payload)")
			}
		})
	}
}

func TestBadFlags(t *testing.T) {
	for args, says := range map[string]string{
		"--cc dctcp": "the fluctuation of dctcp is unknown", "--cc what": `--cc what: `,
		"--flows 0":        "--flows 0: want at least 1",
		"--priorities 300": "--priorities 300: want 1 to 256", "--options room=maybe": "room=maybe",
		"--base-rtt 0s": "--base-rtt 0s: want a duration",
		"--base-rtt x":  "--base-rtt x: want", "-n 2": "--iters 2: want 5 to",
		"-m 1000": "--mtu 1000", "a b": "a b: want at most one server",
		"-d loop: host": "both ends run in this process", "--iter 5": "did you mean --iters?",
		"--size 5": "unknown flag",
	} {
		var errs strings.Builder
		require.Equal(t, cli.Misuse,
			newProgram().Run(t.Context(), strings.Fields(args), io.Discard, &errs), args)
		assert.Contains(t, errs.String(), says, args)
		assert.True(t, strings.HasPrefix(errs.String(), "roce_channels: "), args)
	}
	var out strings.Builder
	require.Zero(t, newProgram().Run(t.Context(), []string{"--help"}, &out, io.Discard))
	for _, says := range []string{"--flows", "ib_write_bw", "--ib-dev", "--upstream",
		"-n, --iters"} {
		assert.Contains(t, out.String(), says)
	}
	require.Zero(t, newProgram().Run(t.Context(), []string{"-V"}, io.Discard, io.Discard))
}
