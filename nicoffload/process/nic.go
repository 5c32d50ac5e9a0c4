package process

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

// NIC is a soft NIC in a process of its own, which is restarted whenever it dies. It contains the
// pipeline's end, a nicoffload.Datapath, and the agent's.
type NIC struct {
	*nicoffload.Remote
	Device *nicoffload.Host

	memory    *Memory
	mu        sync.Mutex // guards child.cmd
	child     *Child
	quit      chan struct{}
	ended     chan struct{}
	restarted atomic.Bool
	restarts  atomic.Uint64
}

// restartDelay is the delay before a restart, so that a NIC which keeps dying does not occupy a
// core.
const restartDelay = 100 * time.Millisecond

// OpenNIC starts a NIC process.
func OpenNIC(c nicoffload.Config, now units.Time) (*NIC, error) {
	m, err := NewMemory(nicoffload.ProcessLinkBytes)
	if err != nil {
		return nil, err
	}
	n := &NIC{memory: m, quit: make(chan struct{}), ended: make(chan struct{})}
	if err := n.start(c, now); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	go n.supervise()
	return n, nil
}

func (n *NIC) start(c nicoffload.Config, now units.Time) error {
	link, err := nicoffload.InitProcessLink(n.memory.Bytes, false)
	if err != nil {
		return err
	}
	if n.Remote, err = link.Remote(now); err != nil {
		return err
	}
	if n.Device, err = link.Host(); err != nil {
		return err
	}
	n.child, err = StartNIC(n.memory, c)
	return err
}

// supervise restarts the process when it has died.
func (n *NIC) supervise() {
	defer close(n.ended)
	for {
		_ = n.child.cmd.Wait() // the reason of its death does not matter
		select {
		case <-n.quit:
			return
		case <-time.After(restartDelay):
		}
		n.mu.Lock()
		if n.child.Restart() == nil {
			n.restarts.Add(1)
			n.restarted.Store(true)
		}
		n.mu.Unlock()
	}
}

// Poll implements nicoffload.Datapath. It reports all flows to a restarted process.
func (n *NIC) Poll(now units.Time) units.Time {
	if n.restarted.Load() {
		n.restarted.Store(false)
		n.Reopen(now)
	}
	return n.Remote.Poll(now)
}

// PID returns the process ID.
func (n *NIC) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.child.PID()
}

// Restarts returns how often the process was restarted.
func (n *NIC) Restarts() uint64 { return n.restarts.Load() }

// Stop ends the process. Neither end may be used any more.
func (n *NIC) Stop() error {
	close(n.quit)
	for {
		n.mu.Lock()
		_ = n.child.cmd.Process.Kill() // fails if it is dead already
		n.mu.Unlock()
		select {
		case <-n.ended:
			return n.memory.Close()
		case <-time.After(restartDelay): // it may have been restarted meanwhile
		}
	}
}
