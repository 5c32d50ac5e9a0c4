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

// environment is the variable that holds a child's role.
const environment = "GOROCE_NICOFFLOAD_CHILD"

// role is what a child process runs.
type role struct {
	NIC   *nicoffload.Config `json:",omitempty"`
	Agent *Agent             `json:",omitempty"`
	// Parent is the child's parent process, so that the child notices a parent that died before its
	// first check.
	Parent int
}

// Agent configures an agent process: the cc.Spec of the algorithm of every flow, in text form, and
// the path that it is made for.
type Agent struct {
	Algorithm string
	Path      cc.Path
}

// Child is a child process.
type Child struct {
	memory *Memory
	role   []byte
	cmd    *exec.Cmd
}

// StartNIC starts a soft NIC, with the NIC's end of a ProcessLink in the memory.
func StartNIC(m *Memory, c nicoffload.Config) (*Child, error) { return start(m, role{NIC: &c}) }

// StartAgent starts an agent, with the agent's end of a Link in the memory.
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
	if text, child := os.LookupEnv(environment); child { // prevents a chain of children
		return nil, fmt.Errorf("process: this process is a child itself, with role %s: main has "+
			"to begin with process.BeChild", text)
	}
	c := &Child{memory: m, role: text}
	return c, c.Restart()
}

// Restart starts the process again, after it has died, on the same memory.
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

// PID returns the process ID.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Kill ends the process with SIGKILL, and waits for its end.
func (c *Child) Kill() error {
	if err := c.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("process: %w", err)
	}
	_ = c.cmd.Wait() // returns the error that it was killed
	return nil
}

// BeChild runs the child's role and does not return, in a process that StartNIC or StartAgent
// started. In other processes it returns at once.
func BeChild() {
	text, child := os.LookupEnv(environment)
	if !child {
		return
	}
	os.Unsetenv(environment)
	if err := runChild(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runChild(text string) error {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return fmt.Errorf("process: %s=%q: %w", environment, text, err)
	}
	f := os.NewFile(3, "shared memory")
	switch {
	case r.NIC != nil:
		return runNIC(f, *r.NIC, r.Parent)
	case r.Agent != nil:
		return runAgent(f, *r.Agent, r.Parent)
	}
	return fmt.Errorf("process: %s=%q, want a role", environment, text)
}

func runNIC(f *os.File, c nicoffload.Config, parent int) error {
	m, err := OpenMemory(f, nicoffload.ProcessLinkBytes)
	if err != nil {
		return err
	}
	link, err := nicoffload.OpenProcessLink(m.Bytes)
	if err != nil {
		return err
	}
	n, err := nicoffload.NewNIC(c, 0)
	if err != nil {
		return err
	}
	served, err := link.Serve(n)
	if err != nil {
		return err
	}
	poll(parent, served.Poll)
	return nil
}

func runAgent(f *os.File, c Agent, parent int) error {
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
		clock.Update(host.NICTime(), own)
		agent.Poll(clock.Now(own))
		return agent.Counters().Messages != before
	})
	return nil
}

// The waiting of a child: it spins, then naps, and checks now and then whether its parent is alive.
const (
	spinRounds  = 2000 // rounds without work before the first nap
	napTime     = 20 * time.Microsecond
	orphanCheck = 100 * time.Millisecond
)

// poll runs rounds until the parent has died.
func poll(parent int, round func(own units.Time) (busy bool)) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it, naps only take longer
	begin, idle := time.Now(), 0
	looked := begin
	for {
		now := time.Now()
		if round(units.Time(units.FromStd(now.Sub(begin)))) {
			idle = 0
		} else if idle++; idle > spinRounds {
			ts := unix.NsecToTimespec(int64(napTime))
			_ = unix.Nanosleep(&ts, nil) // an early wake-up is harmless
		}
		if now.Sub(looked) > orphanCheck {
			if looked = now; os.Getppid() != parent {
				return
			}
		}
	}
}
