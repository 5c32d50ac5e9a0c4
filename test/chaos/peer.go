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

// peer is another process of a campaign. It reads orders, one a line, and writes a line when it has
// executed one.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startPeer starts a process that runs the campaign's peer with these arguments. Its usage must
// stay flat too, unless it is killed.
func (r *run) startPeer(args ...string) (*peer, error) {
	p, err := start(role{Campaign: r.campaign, Peer: true, Args: args})
	if err != nil {
		return nil, err
	}
	r.peers = append(r.peers, p)
	return p, nil
}

// start starts this program again, in that role.
func start(be role) (*peer, error) {
	text, err := json.Marshal(be)
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

// order writes an order to the peer. done waits for the answer.
func (p *peer) order(what string) error {
	_, err := fmt.Fprintln(p.in, what)
	return err
}

func (p *peer) done() (answer string, err error) {
	answer, err = p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the peer ended: %w", errors.Join(err, p.cmd.Wait()))
	}
	return strings.TrimSuffix(answer, "\n"), nil
}

func (p *peer) do(what string) (answer string, err error) {
	if err := p.order(what); err != nil {
		return "", err
	}
	return p.done()
}

// end ends the peer by the end of its orders; it fails if the peer does.
func (p *peer) end() error {
	p.in.Close()
	if p.cmd.ProcessState != nil {
		return nil // its end was noticed before
	}
	io.Copy(io.Discard, p.out)
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the peer: %w", err)
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

// measureOrder is executed by orders itself.
const measureOrder = "measure"

// orders is what a peer has to do.
type orders struct {
	in    *bufio.Scanner
	out   io.Writer
	start *usage
	err   error
}

// next waits for an order. There is none when the campaign is over.
func (o *orders) next() (order string, more bool) {
	for o.err == nil && o.in.Scan() {
		if o.in.Text() != measureOrder {
			return o.in.Text(), true
		}
		now := measure()
		if o.start == nil {
			o.start = &now
		}
		if o.err = o.start.grown(now); o.err == nil {
			o.answer(now.String())
		}
	}
	return "", false
}

func (o *orders) answer(text string) { fmt.Fprintln(o.out, text) }
