package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/bytetuning/dialect"
	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/units"
)

// Fleet is a set of switches that are tuned together.
type Fleet struct {
	Settle, Period, Poll units.Duration
	// Confirm is the time after which the switches undo a point that is not confirmed.
	Confirm  units.Duration
	Switches []*Switch
}

// Switch is a member of a fleet.
type Switch struct {
	Name, Layer     string
	Dialect         *dialect.Dialect
	Model           string
	Apply           string // ssh, or for SONiC gnmi
	SSH             SSH
	GNMI            GNMI
	Interfaces      []string
	Watch           []string
	Priority, Queue int
	QueueName       string // in OpenConfig; default: the queue's number
	Chip            intent.Chip
}

// SSH holds the parameters of the connection that configures a switch.
type SSH struct {
	Address    string `yaml:"address"`
	User       string `yaml:"user"`
	Key        string `yaml:"key"`         // private key file
	KnownHosts string `yaml:"known_hosts"` // file with the switch's public key
}

// GNMI holds the parameters of the connection that reads a switch.
type GNMI struct {
	Address string `yaml:"address"`
	// CA is a file with the CA certificate of the switch; "" means the system's CAs.
	CA       string `yaml:"ca"`
	Insecure bool   `yaml:"insecure"` // without TLS
	// User is sent as metadata, with the password of $BYTETUNING_GNMI_PASSWORD.
	User string `yaml:"user"`
	// Mode is how updates are subscribed to: sample (the default) at the poll interval, or
	// on_change with the poll interval as the heartbeat.
	Mode string `yaml:"mode"`
}

type fleetFile struct {
	Settle   string       `yaml:"settle"`
	Period   string       `yaml:"period"`
	Poll     string       `yaml:"poll"`
	Confirm  string       `yaml:"confirm"`
	Switches []switchFile `yaml:"switches"`
}

type switchFile struct {
	Name       string   `yaml:"name"`
	Layer      string   `yaml:"layer"`
	Dialect    string   `yaml:"dialect"`
	Model      string   `yaml:"model"`
	Apply      string   `yaml:"apply"`
	SSH        SSH      `yaml:"ssh"`
	GNMI       GNMI     `yaml:"gnmi"`
	Interfaces []string `yaml:"interfaces"`
	Watch      []string `yaml:"watch"`
	Priority   int      `yaml:"priority"`
	Queue      int      `yaml:"queue"`
	QueueName  string   `yaml:"queue_name"`
	Chip       struct {
		Cell, Buffer string
		Ports        int
	} `yaml:"chip"`
}

// ParseFleet parses a fleet in YAML.
func ParseFleet(text []byte) (*Fleet, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var f fleetFile
	if err := d.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("empty document")
		}
		return nil, fmt.Errorf("live: fleet: %w", err)
	}
	fleet := &Fleet{Settle: 10 * units.Second, Period: 30 * units.Second, Poll: units.Second}
	for _, t := range []struct {
		name, text string
		into       *units.Duration
	}{{"settle", f.Settle, &fleet.Settle}, {"period", f.Period, &fleet.Period},
		{"poll", f.Poll, &fleet.Poll}, {"confirm", f.Confirm, &fleet.Confirm}} {
		if t.text == "" {
			continue
		}
		d, err := units.ParseDuration(t.text)
		if err != nil {
			return nil, fmt.Errorf("live: fleet: %s: %w", t.name, err)
		}
		*t.into = d
	}
	if fleet.Settle < 0 || fleet.Poll < units.Millisecond || fleet.Period < 2*fleet.Poll ||
		fleet.Period > 24*60*units.Minute {
		return nil, fmt.Errorf("live: fleet: settle %v, period %v, poll %v: want settle 0 or "+
			"more, poll 1ms or more, period two polls to a day",
			fleet.Settle, fleet.Period, fleet.Poll)
	}
	if err := fleet.checkConfirm(); err != nil {
		return nil, err
	}
	if len(f.Switches) == 0 {
		return nil, errors.New("live: fleet: no switches")
	}
	for n := range f.Switches {
		s, err := f.Switches[n].parse()
		if err != nil {
			return nil, fmt.Errorf("live: fleet: switch %d %q: %w", n+1, f.Switches[n].Name, err)
		}
		if slices.ContainsFunc(fleet.Switches, func(o *Switch) bool { return o.Name == s.Name }) {
			return nil, fmt.Errorf("live: fleet: duplicate name %q", s.Name)
		}
		fleet.Switches = append(fleet.Switches, s)
	}
	return fleet, nil
}

// longestTrial is the longest time for a confirmation that NX-OS and VRP accept.
const longestTrial = 65_535 * units.Second

// checkConfirm checks the time of a trial, or sets it: a point is measured twice before it is
// confirmed, and every switch has to be reached.
func (f *Fleet) checkConfirm() error {
	least := 2*(f.Settle+f.Period) + units.Minute
	if f.Confirm == 0 {
		f.Confirm = least + units.Minute
	}
	if f.Confirm < least || f.Confirm > longestTrial {
		return fmt.Errorf("live: fleet: confirm %v: want two settles and periods and a minute, "+
			"%v, to %v", f.Confirm, least, longestTrial)
	}
	return nil
}

func (f *switchFile) parse() (*Switch, error) {
	d, err := dialect.Lookup(f.Dialect)
	if err != nil {
		return nil, err
	}
	s := &Switch{
		Name: f.Name, Layer: f.Layer, Dialect: d, Model: f.Model, Apply: f.Apply, SSH: f.SSH,
		GNMI: f.GNMI, Interfaces: f.Interfaces,
		Watch: f.Watch, Priority: f.Priority, Queue: f.Queue, QueueName: f.QueueName,
		Chip: intent.Chip{Ports: f.Chip.Ports},
	}
	for text, into := range map[string]*units.Bytes{f.Chip.Cell: &s.Chip.Cell,
		f.Chip.Buffer: &s.Chip.Buffer} {
		if text == "" {
			continue
		}
		if *into, err = units.ParseBytes(text); err != nil {
			return nil, fmt.Errorf("chip: %w", err)
		}
	}
	if len(s.Watch) == 0 {
		s.Watch = s.Interfaces
	}
	if s.QueueName == "" {
		s.QueueName = fmt.Sprint(s.Queue)
	}
	switch {
	case s.Apply == "":
		s.Apply = "ssh"
	case s.Apply == "gnmi" && d.Name != "sonic":
		return nil, fmt.Errorf("apply: gnmi: want ssh for %s; gnmi is for sonic", d.Name)
	case s.Apply != "ssh" && s.Apply != "gnmi":
		return nil, fmt.Errorf("apply: %q: want ssh or gnmi", s.Apply)
	}
	switch s.GNMI.Mode {
	case "":
		s.GNMI.Mode = modeSample
	case modeSample, modeOnChange:
	default:
		return nil, fmt.Errorf("gnmi: mode %q: want %s or %s", s.GNMI.Mode, modeSample,
			modeOnChange)
	}
	ssh := s.Apply == "ssh"
	for what, missing := range map[string]bool{
		"name": !fileName(s.Name), "layer": s.Layer == "", "interfaces": len(s.Interfaces) == 0,
		"user": ssh && s.SSH.User == "",
		"key":  ssh && s.SSH.Key == "", "known_hosts": ssh && s.SSH.KnownHosts == "",
	} {
		if missing {
			return nil, fmt.Errorf("%s: missing, or a name not of letters, digits, - and _", what)
		}
	}
	addresses := []string{s.GNMI.Address}
	if ssh {
		addresses = append(addresses, s.SSH.Address)
	}
	for _, address := range addresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return nil, fmt.Errorf("address %q: want host:port", address)
		}
	}
	// Validate queue, priority and chip with a minimal watermark.
	i := s.intent(bytetuning.Watermark{Kmax: 1, Pmax: 1})
	i.XOFF = 2
	_, err = i.Validate()
	return s, err
}

// fileName reports whether a name is usable in a file name.
func fileName(name string) bool {
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' ||
			r == '_') {
			return false
		}
	}
	return name != ""
}

// intent returns the switch's intent with a watermark.
func (s *Switch) intent(w bytetuning.Watermark) *intent.Intent {
	return &intent.Intent{
		Name: s.Layer, Model: s.Model, Chip: s.Chip, Watermark: w, Priority: s.Priority,
		Queue: s.Queue, Interfaces: s.Interfaces,
	}
}

// Layers returns the layers of the fleet in order of their first switch. A layer's buffer is the
// smallest of its switches' buffers.
func (f *Fleet) Layers(space bytetuning.Space) []bytetuning.Layer {
	var layers []bytetuning.Layer
	for _, s := range f.Switches {
		i := f.layer(layers, s.Layer)
		if i == len(layers) {
			layers = append(layers, bytetuning.Layer{Name: s.Layer, Space: space,
				Buffer: s.Chip.Buffer, Ports: s.Chip.Ports})
			continue
		}
		l := &layers[i]
		if s.Chip.Buffer > 0 && (l.Buffer == 0 || s.Chip.Buffer < l.Buffer) {
			l.Buffer = s.Chip.Buffer
		}
		l.Ports = max(l.Ports, s.Chip.Ports)
	}
	return layers
}

func (f *Fleet) layer(layers []bytetuning.Layer, name string) int {
	for i := range layers {
		if layers[i].Name == name {
			return i
		}
	}
	return len(layers)
}
