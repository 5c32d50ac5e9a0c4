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

// Console runs commands on a switch. An empty command starts its shell, which reads input.
type Console interface {
	Run(ctx context.Context, command string, input []byte) (output []byte, err error)
	Close() error
}

// dialLimit is the maximum time to connect to a switch, in addition to the context's deadline.
const dialLimit = 30 * time.Second

// Dial connects to a switch over SSH, within dialLimit. The switch's key must be in the file of
// known hosts.
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
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // NewClientConn takes no context
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

// Run closes the connection when the context ends, because an unresponsive switch does not end a
// session.
func (c *sshConsole) Run(ctx context.Context, command string, input []byte) ([]byte, error) {
	defer context.AfterFunc(ctx, func() { c.client.Close() })()
	session, err := c.client.NewSession()
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	defer session.Close()
	var out, stderr bytes.Buffer // written concurrently
	session.Stdin, session.Stdout, session.Stderr = bytes.NewReader(input), &out, &stderr
	if command == "" {
		if err = session.Shell(); err == nil {
			err = session.Wait()
		}
	} else {
		err = session.Run(command)
	}
	out.Write(stderr.Bytes())
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

// procedure holds the commands that save and enter the configuration of a dialect.
type procedure struct {
	save          string   // command that prints the configuration
	load          string   // command that reads a configuration; "" means a shell
	before, after []string // lines around the configuration in a shell
}

// procedures are the documented commands, by dialect. None was tested on a switch.
var procedures = map[string]procedure{
	"sonic": {save: "sudo sonic-cfggen -d --print-data", load: "sudo config load -y /dev/stdin"},
	"nxos": {save: "show running-config", before: []string{"configure terminal"},
		after: []string{"end", "exit"}},
	"eos": {save: "show running-config",
		before: []string{"enable", "configure session bytetuning"}, after: []string{"commit",
			"exit"}},
	"huawei": {save: "display current-configuration", before: []string{"system-view"},
		after: []string{"quit", "quit"}},
	// the configuration itself starts with system-view
	"h3c": {save: "display current-configuration", after: []string{"return", "quit"}},
	"onyx": {save: "show running-config", before: []string{"enable", "configure terminal"},
		after: []string{"exit", "exit"}},
	"nvue": {save: "nv config show -o commands", after: []string{"exit"}},
}

// refusals are the strings by which switches report an error.
var refusals = []string{"% Invalid", "% Incomplete", "% Ambiguous", "Error:", "ERROR:",
	"Unrecognized command", "Unknown command", "Traceback"}

// shell configures a switch over SSH.
type shell struct {
	Console
	dialect string
}

func (s shell) save(ctx context.Context) ([]byte, error) {
	return s.Run(ctx, procedures[s.dialect].save, nil)
}

// enter enters a configuration, permanently.
func (s shell) enter(ctx context.Context, config string) error {
	p := procedures[s.dialect]
	if p.load == "" {
		lines := append(append([]string{}, p.before...), strings.TrimRight(config, "\n"))
		config = strings.Join(append(lines, p.after...), "\n") + "\n"
	}
	return s.run(ctx, p.load, config)
}

// run runs a command. A refusal in any line of the output is an error.
func (s shell) run(ctx context.Context, command, input string) error {
	out, err := s.Run(ctx, command, []byte(input))
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(out), "\n") {
		for _, r := range refusals {
			if strings.Contains(line, r) {
				return fmt.Errorf("live: rejected: %s", strings.TrimSpace(line))
			}
		}
	}
	return nil
}
