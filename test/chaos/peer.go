package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// peer is another process of a campaign. It reads orders, one per line, and writes a line after
// executing each.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startPeer starts a process that runs the campaign's peer with these arguments. Its usage is
// checked like this process's, unless it is killed.
func (r *run) startPeer(args ...string) (*peer, error) {
	p, err := start(role{Campaign: r.campaign, Peer: true, Args: args})
	if err != nil {
		return nil, err
	}
	r.peers = append(r.peers, p)
	return p, nil
}

// start starts this program again with a role.
func start(r role) (*peer, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &peer{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

// sendOrder writes an order to the peer; awaitReply waits for the reply to it.
func (p *peer) sendOrder(what string) error {
	_, err := fmt.Fprintln(p.in, what)
	return err
}

func (p *peer) awaitReply() (answer string, err error) {
	answer, err = p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the peer exited: %w", errors.Join(err, p.cmd.Wait()))
	}
	return strings.TrimSuffix(answer, "\n"), nil
}

func (p *peer) call(what string) (answer string, err error) {
	if err := p.sendOrder(what); err != nil {
		return "", err
	}
	return p.awaitReply()
}

// stop closes the peer's orders and waits for its exit, whose error it returns.
func (p *peer) stop() error {
	p.in.Close()
	if p.cmd.ProcessState != nil {
		return nil // its exit was noticed before
	}
	io.Copy(io.Discard, p.out)
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	return nil
}

// kill kills the peer.
func (r *run) kill(p *peer) {
	p.cmd.Process.Kill()
	p.cmd.Wait()
	for i := range r.peers {
		if r.peers[i] == p {
			r.peers = append(r.peers[:i], r.peers[i+1:]...)
			break
		}
	}
}

// measureOrder is executed by orders.next itself.
const measureOrder = "measure"

// orders is the peer's end of the connection to the campaign.
type orders struct {
	in    *bufio.Scanner
	out   io.Writer
	start *usage
	err   error
}

// next waits for an order. It returns false when the campaign is over.
func (o *orders) next() (order string, more bool) {
	for o.err == nil && o.in.Scan() {
		if o.in.Text() != measureOrder {
			return o.in.Text(), true
		}
		now := measure()
		if o.start == nil {
			o.start = &now
		}
		if o.err = o.start.checkGrowth(now); o.err == nil {
			o.reply(now.String())
		}
	}
	return "", false
}

func (o *orders) reply(text string) { fmt.Fprintln(o.out, text) }
