package live

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"google.golang.org/grpc"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

const fleetText = `settle: 1s
period: 100ms
poll: 10ms
switches:
  - name: tor1
    layer: tor
    dialect: sonic
    ssh: {address: "%s", user: admin, key: %s, known_hosts: %s}
    gnmi: {address: "%s", insecure: true}
    interfaces: [Ethernet0, Ethernet4]
    watch: [Ethernet0]
    priority: 3
    queue: 3
    chip: {cell: 256B, buffer: 32MiB, ports: 32}
  - name: tor2
    layer: tor
    dialect: h3c
    ssh: {address: "%[1]s", user: admin, key: %[2]s, known_hosts: %[3]s}
    gnmi: {address: "%[4]s", insecure: true}
    interfaces: [HundredGigE1/0/1]
    priority: 3
    queue: 3
    queue_name: rdma
    chip: {cell: 208B, buffer: 16MiB, ports: 16}
`

// box is a simulated switch: an SSH server that records its input, and a gNMI server with counters.
type box struct {
	mu       sync.Mutex
	received []string // command, then input
	say      func(command, input string) (string, uint32)
	sampler
	commits
	ssh   string
	gnmi  string
	known string
	key   string
}

func newBox(t *testing.T) *box {
	b := &box{commits: commits{db: map[string]string{}, supported: true, now: time.Now}}
	dir := t.TempDir()
	host, client := newKey(t), newKey(t)
	signer, err := ssh.NewSignerFromKey(host)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(client, "")
	require.NoError(t, err)
	b.key = filepath.Join(dir, "key")
	require.NoError(t, os.WriteFile(b.key, pem.EncodeToMemory(block), 0o600))

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	b.ssh = listener.Addr().String()
	b.known = filepath.Join(dir, "known_hosts")
	require.NoError(t,
		os.WriteFile(b.known, []byte(knownhosts.Line([]string{b.ssh}, signer.PublicKey())+"\n"),
			0o600))
	allowed, err := ssh.NewSignerFromKey(client)
	require.NoError(t, err)
	config := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata,
		k ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != "admin" || string(k.Marshal()) != string(allowed.PublicKey().Marshal()) {
			return nil, errors.New("who?")
		}
		return nil, nil
	}}
	config.AddHostKey(signer)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go b.serve(conn, config)
		}
	}()

	server := grpc.NewServer()
	gpb.RegisterGNMIServer(server, b)
	g, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.gnmi = g.Addr().String()
	go server.Serve(g) //nolint:errcheck // ends with Stop
	t.Cleanup(server.Stop)
	return b
}

func newKey(t *testing.T) ed25519.PrivateKey {
	_, k, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return k
}

func (b *box) serve(conn net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range requests {
				var command struct{ Text string }
				if r.Type == "exec" {
					ssh.Unmarshal(r.Payload, &command) //nolint:errcheck // our own client's
				} else if r.Type != "shell" {
					r.Reply(false, nil) //nolint:errcheck
					continue
				}
				r.Reply(true, nil) //nolint:errcheck
				input, _ := io.ReadAll(channel)
				out, status := b.execute(command.Text, string(input))
				io.WriteString(channel,
					out) //nolint:errcheck
				channel.SendRequest("exit-status", false,
					ssh.Marshal(struct{ Status uint32 }{status})) //nolint:errcheck
				channel.Close()
			}
		}()
	}
}

func (b *box) execute(command, input string) (string, uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.received = append(b.received, command+"\n"+input)
	if b.say != nil {
		return b.say(command, input)
	}
	if strings.HasPrefix(command, "sudo sonic-cfggen") {
		return `{"OLD": {}}`, 0
	}
	return "old configuration\n", 0
}

// network returns a target with two switches that share one box.
func network(t *testing.T, b *box) *Network {
	t.Helper()
	f, err := ParseFleet(fmt.Appendf(nil, fleetText, b.ssh, b.key, b.known, b.gnmi))
	require.NoError(t, err)
	n := New(f, bytetuning.Traversal(), filepath.Join(t.TempDir(), "saved"))
	// the box advances its own time
	n.wait = func(ctx context.Context, _ units.Duration) error { return ctx.Err() }
	t.Cleanup(func() { assert.NoError(t, n.Close()) })
	return n
}

var good = bytetuning.Point{{Kmin: 250 * units.KiB, Kmax: 500 * units.KiB, Pmax: 20,
	Headroom: 75 * units.KiB, Alpha: -3}}

// TestApplyAndRollback checks that configurations are saved once, before any change, and restored.
func TestApplyAndRollback(t *testing.T) {
	b := newBox(t)
	n := network(t, b)
	require.Equal(t,
		[]bytetuning.Layer{{Name: "tor", Space: n.Space, Buffer: 16 * units.MiB, Ports: 32}},
		n.Layers())
	require.NoError(t, n.Apply(t.Context(), good))
	require.Len(t, b.received, 6)
	assert.Equal(t, "sudo sonic-cfggen -d --print-data\n", b.received[0])
	assert.Equal(t, "display current-configuration\n", b.received[1])
	assert.Equal(t, "sudo config checkpoint bytetuning\n", b.received[2])
	assert.Equal(t, "sudo systemd-run --unit=bytetuning-revert --on-active=123s "+
		"config rollback bytetuning\n", b.received[3])
	assert.True(t, strings.HasPrefix(b.received[4], "sudo config load -y /dev/stdin\n{"),
		b.received[4])
	assert.Contains(t, b.received[4], `"green_max_threshold": "512000"`)
	assert.True(t, strings.HasPrefix(b.received[5], "\nsystem-view\nconfiguration commit delay 3\n"+
		"qos wred queue table bytetuning_tor\n"), b.received[5])
	saved, err := os.ReadFile(filepath.Join(n.Saved, "tor1.saved"))
	require.NoError(t, err)
	assert.Equal(t, `{"OLD": {}}`, string(saved))

	require.NoError(t, n.Apply(t.Context(), good))
	assert.Len(t, b.received, 6+3+4, "saved once; the trial before is ended first")
	require.NoError(t, n.Revert(t.Context()))
	again := network(t, b)
	again.Saved = n.Saved
	b.received = nil
	require.NoError(t, again.Apply(t.Context(), good))
	assert.Len(t, b.received, 4, "saved only once, also across runs")

	b.received = nil
	old := "interface HundredGigE1/0/1\n qos wred apply before\n"
	require.NoError(t, os.WriteFile(filepath.Join(n.Saved, "tor2.saved"), []byte(old), 0o600))
	require.NoError(t, n.Rollback(t.Context()))
	require.Len(t, b.received, 2)
	assert.Equal(t, "sudo config load -y /dev/stdin\n"+`{"OLD": {}}`, b.received[0])
	assert.Contains(t, b.received[1], "undo qos wred queue table bytetuning_tor\n"+old,
		"with the lines that ours replaced")
}

// TestRejected checks that an error names the switch that rejected its configuration and that later
// switches are not changed. If a configuration cannot be rendered or saved, nothing is changed.
func TestRejected(t *testing.T) {
	b := newBox(t)
	n := network(t, b)
	bad := bytetuning.Point{good[0]}
	bad[0].Alpha = -7
	assert.ErrorContains(t, n.Apply(t.Context(), bad), "case I")
	assert.ErrorContains(t, n.Apply(t.Context(), nil), "watermarks for 0 layers")
	assert.Empty(t, b.received, "no command was sent")

	b.say = func(string, string) (string, uint32) { return "", 0 }
	assert.ErrorContains(t, n.Apply(t.Context(), good), "tor1: the configuration could not be "+
		"saved, and nothing was changed: the configuration is empty")

	b.say = func(command, _ string) (string, uint32) {
		if command == "" {
			return "[leaf]\n            ^\n % Unrecognized command found at '^' position.\n", 0
		}
		return "{}", 0
	}
	assert.ErrorContains(t, n.Apply(t.Context(), good),
		"live: tor2, after 1 of 2 switches: live: rejected: % Unrecognized command")
	saved := n.Saved
	n = network(t, b)
	n.Saved = saved
	b.say = func(command, _ string) (string, uint32) { return "no such table\n", 1 }
	assert.ErrorContains(t, n.Apply(t.Context(), good), "tor1, after 0 of 2")
	assert.ErrorContains(t, n.Apply(t.Context(), good), "tor1: it goes back by itself in 2m")
	assert.ErrorContains(t, n.Rollback(t.Context()), "no such table")

	over, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Error(t, n.Apply(over, good))
}

// TestUnknownHost checks that a switch whose key is not in known_hosts is rejected.
func TestUnknownHost(t *testing.T) {
	b := newBox(t)
	n := network(t, b)
	require.NoError(t, os.WriteFile(b.known, nil, 0o600))
	assert.ErrorContains(t, n.Apply(t.Context(), good), "key is unknown")
	assert.Empty(t, b.received)
	n.Fleet.Switches[0].SSH.Key = b.known
	assert.ErrorContains(t, n.Apply(t.Context(), good), "no key found")
}

// TestSilentSwitch checks that the end of the context ends the wait for an unresponsive switch.
func TestSilentSwitch(t *testing.T) {
	for _, c := range []struct {
		name string
		dial bool // Dial blocks instead of Run
		fall func(b *box, silent func()) (address string)
	}{
		{"no SSH at all", true, func(b *box, silent func()) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { l.Close() })
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				silent()
				io.Copy(io.Discard, conn) //nolint:errcheck // until the client leaves
				conn.Close()
			}()
			return l.Addr().String()
		}},
		{"no end of a command", false, func(b *box, silent func()) string {
			never := make(chan struct{})
			t.Cleanup(func() { close(never) })
			b.say = func(string, string) (string, uint32) { silent(); <-never; return "", 0 }
			return b.ssh
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			console, err := Dial(ctx, SSH{Address: c.fall(b, cancel), User: "admin", Key: b.key,
				KnownHosts: b.known})
			if c.dial {
				require.ErrorIs(t, err, context.Canceled)
				return
			}
			require.NoError(t, err)
			_, err = console.Run(ctx, "show clock", nil)
			require.ErrorIs(t, err, context.Canceled)
			require.Error(t, console.Close(), "the connection is already closed")
		})
	}
}

// TestTuning checks that a search over SSH and gNMI ends on its best point, although a switch
// sometimes rejects a configuration.
func TestTuning(t *testing.T) {
	b := newBox(t)
	n := network(t, b)
	kmax := 0
	received := 0
	b.say = func(command, input string) (string, uint32) {
		if strings.HasPrefix(command, "sudo config") {
			received++
			if received == 4 {
				return "Traceback (most recent call last)\n", 1
			}
			_, rest, _ := strings.Cut(input, `"green_max_threshold": "`)
			fmt.Sscan(rest, &kmax) //nolint:errcheck
		}
		return "{}", 0
	}
	var octets uint64
	b.answer = func(string, string, int) []*gpb.Update {
		octets += 3_000_000_000
		return leaves(map[string]*gpb.TypedValue{"transmit-octets": whole(octets),
			"avg-queue-len": whole(uint64(kmax))})
	}
	o := bytetuning.NewObjective()
	tuner, err := bytetuning.New("anneal:tem=0.05,again=false",
		bytetuning.Problem{Layers: n.Layers(), Start: good, Energy: o.Energy, Seed: 1})
	require.NoError(t, err)
	s := &bytetuning.Search{Target: n, Tuner: tuner, Objective: o, Start: good, Budget: 30}
	out, err := s.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, out.Skipped)
	assert.Less(t, out.Best[0].Kmax, good[0].Kmax)
	assert.EqualValues(t, out.Best[0].Kmax, kmax, "the switches have the best point")
}

func TestFleetErrors(t *testing.T) {
	text := fmt.Sprintf(fleetText, "127.0.0.1:22", "k", "h", "127.0.0.1:8080")
	_, err := ParseFleet([]byte(text))
	require.NoError(t, err)
	for want, edit := range map[string][2]string{
		"field sttle not found":             {"settle", "sttle"},
		"settle: units: duration":           {"settle: 1s", "settle: soon"},
		"want settle 0 or more":             {"poll: 10ms", "poll: 60ms"},
		`switch 1 "tor1": dialect: unknown`: {"dialect: sonic", "dialect: junos"},
		`switch 1 "": name: missing`:        {"name: tor1", "name: ''"},
		`"../x": name: missing, or a name`:  {"name: tor1", "name: ../x"},
		`"tor1": interfaces: missing`: {"interfaces: [Ethernet0, Ethernet4]",
			"interfaces: []"},
		`"tor1": address "nowhere"`:    {`address: "127.0.0.1:22"`, `address: nowhere`},
		`"tor1": user: missing`:        {"user: admin", "user: ''"},
		`apply: "telnet": want ssh or`: {"layer: tor", "layer: tor\n    apply: telnet"},
		`want ssh for h3c`:             {"dialect: h3c", "dialect: h3c\n    apply: gnmi"},
		`chip: units: size "large"`:    {"buffer: 32MiB", "buffer: large"},
		`intent: tor: priority 9`:      {"priority: 3", "priority: 9"},
		`duplicate name "tor1"`:        {"name: tor2", "name: tor1"},
		"confirm 5s: want two settles": {"poll: 10ms", "poll: 10ms\nconfirm: 5s"},
		`gnmi: mode "poll"`:            {"insecure: true", "insecure: true, mode: poll"},
	} {
		_, err := ParseFleet([]byte(strings.Replace(text, edit[0], edit[1], 1)))
		assert.ErrorContains(t, err, want)
	}
	for want, text := range map[string]string{"empty document": "", "no switches": "poll: 1s",
		"cannot unmarshal": "[]"} {
		_, err := ParseFleet([]byte(text))
		assert.ErrorContains(t, err, want)
	}
}

func FuzzParseFleet(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(fleetText, "127.0.0.1:22", "k", "h", "127.0.0.1:8080")))
	f.Add([]byte("switches: [{}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fleet, err := ParseFleet(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, fleet.Layers(bytetuning.Traversal()))
	})
}
