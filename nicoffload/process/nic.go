package process

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

// NIC is a soft NIC in a process of its own, which is started again whenever it dies: the
// pipeline's end of it, a nicoffload.Datapath, and the agent's.
type NIC struct {
	*nicoffload.Remote
	Device *nicoffload.Host

	memory   *Memory
	mu       sync.Mutex // of child's process
	child    *Child
	quit     chan struct{}
	ended    chan struct{}
	reborn   atomic.Bool
	restarts atomic.Uint64
}

// rest is how long a NIC that died is left alone, so that one which cannot live does not take a
// core.
const rest = 100 * time.Millisecond

// OpenNIC starts one.
func OpenNIC(c nicoffload.Config, now units.Time) (*NIC, error) {
	m, err := NewMemory(nicoffload.ApartBytes)
	if err != nil {
		return nil, err
	}
	n := &NIC{memory: m, quit: make(chan struct{}), ended: make(chan struct{})}
	if err := n.start(c, now); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	go n.keep()
	return n, nil
}

func (n *NIC) start(c nicoffload.Config, now units.Time) error {
	apart, err := nicoffload.MakeApart(n.memory.Bytes, false)
	if err != nil {
		return err
	}
	if n.Remote, err = apart.Remote(now); err != nil {
		return err
	}
	if n.Device, err = apart.Host(); err != nil {
		return err
	}
	n.child, err = StartNIC(n.memory, c)
	return err
}

// keep starts the process again when it has died.
func (n *NIC) keep() {
	defer close(n.ended)
	for {
		_ = n.child.cmd.Wait() // it says how it died
		select {
		case <-n.quit:
			return
		case <-time.After(rest):
		}
		n.mu.Lock()
		if n.child.Restart() == nil {
			n.restarts.Add(1)
			n.reborn.Store(true)
		}
		n.mu.Unlock()
	}
}

// Poll implements nicoffload.Datapath: a new process hears which flows there are.
func (n *NIC) Poll(now units.Time) units.Time {
	if n.reborn.Load() {
		n.reborn.Store(false)
		n.Reopen(now)
	}
	return n.Remote.Poll(now)
}

// PID is the number of the process.
func (n *NIC) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.child.PID()
}

// Restarts answers how often the process was started again.
func (n *NIC) Restarts() uint64 { return n.restarts.Load() }

// Stop ends the process. Neither end may be used any more.
func (n *NIC) Stop() error {
	close(n.quit)
	for {
		n.mu.Lock()
		_ = n.child.cmd.Process.Kill() // or it is dead already
		n.mu.Unlock()
		select {
		case <-n.ended:
			return n.memory.Close()
		case <-time.After(rest): // it may have been started again meanwhile
		}
	}
}
