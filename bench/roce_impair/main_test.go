package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/impair"
	"github.com/goroce/goroce/internal/dpdktest"
)

func TestMain(m *testing.M) { dpdktest.Main(m, nil) }

// TestInNamespace runs the box over packet sockets between two hosts, if root or the system lets a
// test make network namespaces.
func TestInNamespace(t *testing.T) {
	dpdktest.InNamespace(t, dpdktest.Test{Name: "BetweenHosts", Run: testBetweenHosts})
}

// write writes a rule file.
func write(t *testing.T, text string) string {
	name := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// testBetweenHosts checks that two hosts exchange all their messages through a box that loses,
// duplicates and reorders packets, and that the report has the faults.
func testBetweenHosts(t *testing.T) {
	for _, args := range []string{"link set lo up", "link add ca type veth peer name ba",
		"link add cb type veth peer name bb", "link set ca up", "link set cb up", "link set ba up",
		"link set bb up"} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("ip %s: %v: %s", args, err, out)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	box, stop := context.WithCancel(ctx)
	s := &settings{devices: []string{"af_packet:ba", "af_packet:bb"}, json: "-", rules: write(t,
		"seed: 5\nrules:\n- {lose: true, op: [SEND, ACK], probability: 5%}\n"+
			"- {duplicate: 1, every: 10}\n- {reorder: 2, every: 17}\n")}
	var out, messages bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- s.run(box, &out, &messages) }()

	var hosts [2]*goroce.Host
	for i, port := range []string{"af_packet:ca", "af_packet:cb"} {
		addr := netip.MustParsePrefix(fmt.Sprintf("10.9.0.%d/24", i+1))
		h, err := goroce.Open(port, goroce.Options{Addrs: []netip.Prefix{addr}})
		require.NoError(t, err)
		defer h.Close()
		hosts[i] = h
	}
	l, err := hosts[1].Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan *goroce.Conn, 1)
	go func() {
		c, err := l.Accept(ctx)
		if err == nil {
			accepted <- c
		}
		close(accepted)
	}()
	client, err := hosts[0].Dial(ctx, l.Addr().String())
	require.NoError(t, err)
	server := <-accepted
	require.NotNil(t, server)
	const messagesSent = 200
	sent := make(chan error, 1)
	go func() {
		for i := range messagesSent {
			if err := client.Send(ctx, fmt.Appendf(nil, "message %d", i)); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	buf := make([]byte, 100)
	for i := range messagesSent {
		n, err := server.Recv(ctx, buf)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("message %d", i), string(buf[:n]))
	}
	require.NoError(t, <-sent)
	stop()
	require.NoError(t, <-done)
	var r impair.Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &r), out.String())
	require.Positive(t, r.A.Lost)
	require.Positive(t, r.A.Duplicated)
	require.Positive(t, r.A.Reordered)
	require.Greater(t, r.A.RoCE, uint64(messagesSent))
	require.Contains(t, messages.String(), "forwarding between af_packet:ba and af_packet:bb")
}

func TestCommand(t *testing.T) {
	good := write(t, "rules: [{lose: true, name: all}]")
	for args, want := range map[string]string{
		"":                                  "-d is given 0 times, want two ports",
		"-d loop:x":                         "-d is given 1 times",
		"x":                                 `unexpected argument "x"`,
		"--rules /no/such/file":             "no such file",
		"--rules " + write(t, "x: 1"):       "rules.yaml:1: field x not found",
		"-d nope: -d nope: --rules " + good: "nope",
	} {
		c := command()
		c.SetArgs(strings.Fields(args))
		require.ErrorContains(t, c.ExecuteContext(t.Context()), want, args)
	}
	var out bytes.Buffer
	c := command()
	c.SetOut(&out)
	c.SetArgs([]string{"--check", "--rules", good})
	require.NoError(t, c.Execute())
	require.Contains(t, out.String(), "1 rules")
}

// TestText forwards nothing for a moment, and checks the table.
func TestText(t *testing.T) {
	var out bytes.Buffer
	name := filepath.Join(t.TempDir(), "r.json")
	s := &settings{devices: []string{"null:", "loop:TestText"}, duration: 50 * time.Millisecond,
		rules: write(t, "rules: [{lose: true, name: all}]"), json: name}
	require.NoError(t, s.run(t.Context(), &out, &out))
	require.Contains(t, out.String(), "all: applied to 0 of")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.True(t, json.Valid(text))
}
