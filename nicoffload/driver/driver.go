package driver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goroce/goroce/nicoffload"
	"github.com/goroce/goroce/nicoffload/process"
	"github.com/goroce/goroce/units"
)

// Off is the name for congestion control in line, without a driver.
const Off = "off"

// Config configures an Offload.
type Config struct {
	// Split leaves the agent to another core; otherwise the Controller polls it, on the polling
	// core.
	Split    bool
	LineRate units.BitRate  // of the port; 0: unknown
	Silence  units.Duration // see nicoffload.ControllerConfig
}

// Offload is an endpoint's congestion control behind a device.
type Offload struct {
	// Controller belongs to the polling core.
	Controller *nicoffload.Controller
	// Agent belongs to the core that polls it; nil if the Controller polls it.
	Agent *nicoffload.Agent
	// Device is a value of a driver-specific type, or nil.
	Device any
	// Close, unless nil, releases the remaining resources, after the last poll.
	Close func() error
}

// Driver makes an Offload, at a time of the clock that it will be polled with.
type Driver func(c Config, now units.Time) (*Offload, error)

var (
	mu      sync.Mutex
	drivers = map[string]Driver{"soft": newSoft, "process": newProcess}
)

// Register adds a driver, for hosts opened from then on. It returns an error if the name is taken.
func Register(name string, d Driver) error {
	mu.Lock()
	defer mu.Unlock()
	if _, taken := drivers[name]; taken || name == Off || name == "" || d == nil {
		return fmt.Errorf("nicoffload: driver %q not registered, want an unused name and a driver",
			name)
	}
	drivers[name] = d
	return nil
}

// Names returns the names of the drivers in alphabetical order.
func Names() []string {
	mu.Lock()
	defer mu.Unlock()
	return slices.Sorted(maps.Keys(drivers))
}

// Find returns the driver with a name; nil for "" and Off.
func Find(name string) (Driver, error) {
	if name == "" || name == Off {
		return nil, nil
	}
	mu.Lock()
	d, known := drivers[name]
	mu.Unlock()
	if !known {
		return nil, fmt.Errorf("unknown driver %q, want %s or %s", name,
			strings.Join(Names(), ", "), Off)
	}
	return d, nil
}

// newSoft runs nicoffload's NIC on the polling core.
func newSoft(c Config, now units.Time) (*Offload, error) {
	nic := config(c)
	if !c.Split {
		controller, err := nicoffload.NewShared(nic, nicoffload.AgentConfig{}, nil, now)
		return &Offload{Controller: controller}, err
	}
	controller, agent, err := nicoffload.NewLinked(nic, nicoffload.AgentConfig{},
		nicoffload.ControllerConfig{Silence: c.Silence}, now)
	return &Offload{Controller: controller, Agent: agent}, err
}

// newProcess runs nicoffload's NIC in another process, and the agent in this one.
func newProcess(c Config, now units.Time) (*Offload, error) {
	nic := config(c)
	n, err := process.OpenNIC(nic, now)
	if err != nil {
		return nil, err
	}
	controller, agent, err := nicoffload.NewSplit(n, n.Device,
		nicoffload.AgentConfig{Aggregation: &nic.Aggregation},
		nicoffload.ControllerConfig{Silence: c.Silence}, c.Split, now)
	if err != nil {
		_ = n.Stop()
		return nil, err
	}
	return &Offload{Controller: controller, Agent: agent, Device: n, Close: n.Stop}, nil
}

func config(c Config) nicoffload.Config {
	return nicoffload.Config{Aggregation: nicoffload.DefaultAggregation, LineRate: c.LineRate}
}
