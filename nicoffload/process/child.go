package process

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/cc"
	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/units"
)

// environment is the variable that says what a child is to be.
const environment = "GOROCE_NICOFFLOAD_CHILD"

// role is what a child is to be.
type role struct {
	NIC   *nicoffload.Config `json:",omitempty"`
	Agent *Agent             `json:",omitempty"`
	// Parent is the process that the child belongs to: one that dies before the child looks would
	// not be missed.
	Parent int
}

// Agent says what an agent process runs: every flow gets an algorithm by the text of a cc.Spec, for
// a path.
type Agent struct {
	Algorithm string
	Path      cc.Path
}

// Child is a process of ours.
type Child struct {
	memory *Memory
	role   []byte
	cmd    *exec.Cmd
}

// StartNIC starts a soft NIC, with the far end of an Apart in the memory.
func StartNIC(m *Memory, c nicoffload.Config) (*Child, error) { return start(m, role{NIC: &c}) }

// StartAgent starts an agent, with the host's end of a Link in the memory.
func StartAgent(m *Memory, a Agent) (*Child, error) {
	spec, err := cc.Parse(a.Algorithm)
	if err != nil {
		return nil, err
	}
	if _, err := spec.New(a.Path); err != nil {
		return nil, err
	}
	return start(m, role{Agent: &a})
}

func start(m *Memory, r role) (*Child, error) {
	r.Parent = os.Getpid()
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	if text, child := os.LookupEnv(environment); child { // or each child would start one
		return nil, fmt.Errorf("process: this is a child itself, to be %s: main does not begin "+
			"with process.BeChild", text)
	}
	c := &Child{memory: m, role: text}
	return c, c.Restart()
}

// Restart starts the process again, once it is dead, on the same memory.
func (c *Child) Restart() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("process: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), environment+"="+string(c.role))
	cmd.ExtraFiles = []*os.File{c.memory.File}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("process: starting a child: %w", err)
	}
	c.cmd = cmd
	return nil
}

// PID is the number of the process.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Kill ends the process as kill -9 does, and waits until it is gone.
func (c *Child) Kill() error {
	if err := c.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("process: %w", err)
	}
	_ = c.cmd.Wait() // it says that it was killed
	return nil
}

// BeChild does not return in a process that StartNIC or StartAgent made.
func BeChild() {
	text, child := os.LookupEnv(environment)
	if !child {
		return
	}
	os.Unsetenv(environment)
	if err := be(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func be(text string) error {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return fmt.Errorf("process: %s=%q: %w", environment, text, err)
	}
	f := os.NewFile(3, "shared memory")
	switch {
	case r.NIC != nil:
		return beNIC(f, *r.NIC, r.Parent)
	case r.Agent != nil:
		return beAgent(f, *r.Agent, r.Parent)
	}
	return fmt.Errorf("process: %s=%q says nothing to be", environment, text)
}

func beNIC(f *os.File, c nicoffload.Config, parent int) error {
	m, err := OpenMemory(f, nicoffload.ApartBytes)
	if err != nil {
		return err
	}
	apart, err := nicoffload.OpenApart(m.Bytes)
	if err != nil {
		return err
	}
	n, err := nicoffload.NewNIC(c, 0)
	if err != nil {
		return err
	}
	served, err := apart.Serve(n)
	if err != nil {
		return err
	}
	poll(parent, served.Poll)
	return nil
}

func beAgent(f *os.File, c Agent, parent int) error {
	m, err := OpenMemory(f, nicoffload.LinkBytes)
	if err != nil {
		return err
	}
	link, err := nicoffload.OpenLink(m.Bytes)
	if err != nil {
		return err
	}
	host, err := link.Host()
	if err != nil {
		return err
	}
	spec, err := cc.Parse(c.Algorithm)
	if err != nil {
		return err
	}
	agent, err := nicoffload.NewAgent(nicoffload.AgentConfig{Device: host,
		Adopt: func(h nicoffload.Handle) (cc.Algorithm, error) {
			path := c.Path
			path.Seed += uint32(h)
			return spec.New(path)
		}}, 0)
	if err != nil {
		return err
	}
	var clock nicoffload.Clock
	poll(parent, func(own units.Time) bool {
		before := agent.Counters().Messages
		clock.Hear(host.NICTime(), own)
		agent.Poll(clock.Now(own))
		return agent.Counters().Messages != before
	})
	return nil
}

// How a child waits: it spins, then naps, and from time to time looks whether it is an orphan.
const (
	patience = 2000 // rounds without work
	nap      = 20 * time.Microsecond
	orphan   = 100 * time.Millisecond
)

// poll does round after round until the parent is gone.
func poll(parent int, round func(own units.Time) (busy bool)) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it naps are longer, no more
	begin, idle := time.Now(), 0
	looked := begin
	for {
		now := time.Now()
		if round(units.Time(units.FromStd(now.Sub(begin)))) {
			idle = 0
		} else if idle++; idle > patience {
			ts := unix.NsecToTimespec(int64(nap))
			_ = unix.Nanosleep(&ts, nil) // woken early is as good
		}
		if now.Sub(looked) > orphan {
			if looked = now; os.Getppid() != parent {
				return
			}
		}
	}
}
