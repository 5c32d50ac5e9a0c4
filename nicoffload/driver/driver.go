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

// Off is the name of what is no driver: congestion control in line.
const Off = "off"

// Config is what an Offload is made with.
type Config struct {
	// Split leaves the agent to another core; without it the Controller polls it, on the polling
	// core.
	Split    bool
	LineRate units.BitRate  // of the port; 0 unknown
	Silence  units.Duration // see nicoffload.ControllerConfig
}

// Offload is an endpoint's congestion control behind a device.
type Offload struct {
	// Controller belongs to the polling core.
	Controller *nicoffload.Controller
	// Agent belongs to the core that polls it, for which it is; nil when the Controller polls it.
	Agent *nicoffload.Agent
	// Device is what else is known of it, of a type of the driver's; nil for nothing.
	Device any
	// Close, unless nil, ends what else there is, after nobody polls any more.
	Close func() error
}

// Driver makes an Offload, at a time of the clock that it will be polled with.
type Driver func(c Config, now units.Time) (*Offload, error)

var (
	mu      sync.Mutex
	drivers = map[string]Driver{"soft": soft, "process": apart}
)

// Register adds a driver, for those who open hosts from then on. A name is taken once.
func Register(name string, d Driver) error {
	mu.Lock()
	defer mu.Unlock()
	if _, taken := drivers[name]; taken || name == Off || name == "" || d == nil {
		return fmt.Errorf("nicoffload: driver %q cannot be added: it is taken, or nothing", name)
	}
	drivers[name] = d
	return nil
}

// Names answers which drivers there are, in order.
func Names() []string {
	mu.Lock()
	defer mu.Unlock()
	return slices.Sorted(maps.Keys(drivers))
}

// Find answers the driver of a name, and nil of "" and Off.
func Find(name string) (Driver, error) {
	if name == "" || name == Off {
		return nil, nil
	}
	mu.Lock()
	d, known := drivers[name]
	mu.Unlock()
	if !known {
		return nil, fmt.Errorf("there is no driver %q; there are %s, and %s", name,
			strings.Join(Names(), ", "), Off)
	}
	return d, nil
}

// soft is nicoffload's NIC on the polling core.
func soft(c Config, now units.Time) (*Offload, error) {
	nic := config(c)
	if !c.Split {
		controller, err := nicoffload.NewShared(nic, nicoffload.AgentConfig{}, nil, now)
		return &Offload{Controller: controller}, err
	}
	controller, agent, err := nicoffload.NewSplit(nic, nicoffload.AgentConfig{},
		nicoffload.ControllerConfig{Silence: c.Silence}, now)
	return &Offload{Controller: controller, Agent: agent}, err
}

// apart is nicoffload's NIC in another process; the agent is in this one.
func apart(c Config, now units.Time) (*Offload, error) {
	nic := config(c)
	n, err := process.OpenNIC(nic, now)
	if err != nil {
		return nil, err
	}
	controller, agent, err := nicoffload.NewOver(n, n.Device,
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
