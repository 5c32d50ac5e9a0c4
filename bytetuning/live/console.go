package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Console is a way to give a switch commands. Run with an empty command enters its shell; input is
// what is typed.
type Console interface {
	Run(ctx context.Context, command string, input []byte) (output []byte, err error)
	Close() error
}

// dialLimit is how long connecting to a switch may take, whatever the context allows.
const dialLimit = 30 * time.Second

// Dial connects to a switch by SSH, within dialLimit. Its key has to be in the file of known hosts.
func Dial(ctx context.Context, s SSH) (Console, error) {
	key, err := os.ReadFile(s.Key)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("live: %s: %w", s.Key, err)
	}
	known, err := knownhosts.New(s.KnownHosts)
	if err != nil {
		return nil, err
	}
	config := &ssh.ClientConfig{User: s.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: known}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := dialTCP(ctx, s.Address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // NewClientConn has no other limit
	c, channels, requests, err := ssh.NewClientConn(conn, s.Address, config)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("live: ssh %s: %w", s.Address, err)
	}
	return &sshConsole{ssh.NewClient(c, channels, requests)}, nil
}

type sshConsole struct{ client *ssh.Client }

func (c *sshConsole) Close() error { return c.client.Close() }

// Run closes the connection when the context ends: a switch that has stopped answering does not end
// a session either.
func (c *sshConsole) Run(ctx context.Context, command string, input []byte) ([]byte, error) {
	defer context.AfterFunc(ctx, func() { c.client.Close() })()
	session, err := c.client.NewSession()
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	defer session.Close()
	var out, complaints bytes.Buffer // which are written at the same time
	session.Stdin, session.Stdout, session.Stderr = bytes.NewReader(input), &out, &complaints
	if command == "" {
		if err = session.Shell(); err == nil {
			err = session.Wait()
		}
	} else {
		err = session.Run(command)
	}
	out.Write(complaints.Bytes())
	if ctx.Err() != nil {
		return out.Bytes(), ctx.Err()
	}
	if err != nil {
		return out.Bytes(), fmt.Errorf("live: %q: %w: %s", command, err, lastLine(out.String()))
	}
	return out.Bytes(), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// procedure is how configuration gets into a switch of a dialect, and how it is saved.
type procedure struct {
	save          string   // prints the configuration
	load          string   // reads one as input; "" is a shell
	before, after []string // around what is typed into a shell
}

// procedures by dialect: the usual commands of each, tried on none.
var procedures = map[string]procedure{
	"sonic": {save: "sudo sonic-cfggen -d --print-data", load: "sudo config load -y /dev/stdin"},
	"nxos": {save: "show running-config", before: []string{"configure terminal"},
		after: []string{"end", "exit"}},
	"eos": {save: "show running-config",
		before: []string{"enable", "configure session bytetuning"}, after: []string{"commit",
			"exit"}},
	"huawei": {save: "display current-configuration", before: []string{"system-view"},
		after: []string{"quit", "quit"}},
	// system-view is in the configuration
	"h3c": {save: "display current-configuration", after: []string{"return", "quit"}},
	"onyx": {save: "show running-config", before: []string{"enable", "configure terminal"},
		after: []string{"exit", "exit"}},
	"nvue": {save: "nv config show -o commands", after: []string{"exit"}},
}

// refusals are how switches say that they did not understand, or will not.
var refusals = []string{"% Invalid", "% Incomplete", "% Ambiguous", "Error:", "ERROR:",
	"Unrecognized command", "Unknown command", "Traceback"}

// shell is a door by SSH.
type shell struct {
	Console
	dialect string
}

func (s shell) save(ctx context.Context) ([]byte, error) {
	return s.Run(ctx, procedures[s.dialect].save, nil)
}

// enter gives a switch a configuration. A refusal anywhere is an error.
func (s shell) enter(ctx context.Context, config string) error {
	p := procedures[s.dialect]
	text := config
	if p.load == "" {
		lines := append(append([]string{}, p.before...), strings.TrimRight(config, "\n"))
		text = strings.Join(append(lines, p.after...), "\n") + "\n"
	}
	out, err := s.Run(ctx, p.load, []byte(text))
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(out), "\n") {
		for _, r := range refusals {
			if strings.Contains(line, r) {
				return fmt.Errorf("live: refused: %s", strings.TrimSpace(line))
			}
		}
	}
	return nil
}
