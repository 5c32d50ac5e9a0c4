package intent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// file is the YAML form.
type file struct {
	Layers []layer `yaml:"layers"`
}

type layer struct {
	Name       string   `yaml:"name"`
	Model      string   `yaml:"model,omitempty"`
	Chip       *chip    `yaml:"chip,omitempty,flow"`
	Kmin       string   `yaml:"kmin"`
	Kmax       string   `yaml:"kmax"`
	Pmax       string   `yaml:"pmax"`
	Headroom   string   `yaml:"headroom"`
	Alpha      string   `yaml:"alpha,omitempty"`
	XOFF       string   `yaml:"xoff,omitempty"`
	XONOffset  string   `yaml:"xon_offset,omitempty"`
	Guaranteed string   `yaml:"guaranteed,omitempty"`
	Priority   int      `yaml:"priority"`
	Queue      int      `yaml:"queue"`
	Interfaces []string `yaml:"interfaces,omitempty,flow"`
	Traffic    *traffic `yaml:"traffic,omitempty,flow"`
	Upstream   *struct {
		PFC *bool `yaml:"pfc"`
	} `yaml:"upstream,omitempty,flow"`
	Lossy *lossy `yaml:"lossy,omitempty,flow"`
}

type chip struct {
	Cell   string `yaml:"cell,omitempty"`
	Buffer string `yaml:"buffer,omitempty"`
	Ports  int    `yaml:"ports,omitempty"`
	Egress string `yaml:"egress,omitempty"`
}

type traffic struct {
	Senders int `yaml:"senders"`
}

type lossy struct {
	Alpha string `yaml:"alpha"`
	Kmax  string `yaml:"kmax,omitempty"`
}

// Parse reads intents. It takes what is well formed; Validate says whether it makes sense.
func Parse(text []byte) ([]*Intent, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var f file
	if err := d.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return nil, fmt.Errorf("intent: %w", err)
	}
	if err := d.Decode(new(any)); err != io.EOF {
		return nil, errors.New("intent: more than one document")
	}
	if len(f.Layers) == 0 {
		return nil, errors.New("intent: no layers")
	}
	var intents []*Intent
	for n, l := range f.Layers {
		i, err := l.intent()
		if err != nil {
			return nil, fmt.Errorf("intent: layer %d %q: %w", n+1, l.Name, err)
		}
		for _, o := range intents {
			if o.Name == i.Name {
				return nil, fmt.Errorf("intent: layer %d: %q is there twice", n+1, l.Name)
			}
		}
		intents = append(intents, i)
	}
	return intents, nil
}

// reader reads quantities until the first that is none.
type reader struct{ err error }

func (r *reader) fail(key string, err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("%s: %w", key, err)
	}
}

// size reads one that has to be there.
func (r *reader) size(key, text string) units.Bytes {
	b, err := units.ParseBytes(text)
	if text == "" {
		err = errors.New("missing")
	}
	r.fail(key, err)
	return b
}

func (r *reader) perhaps(key, text string) units.Bytes {
	if text == "" {
		return 0
	}
	return r.size(key, text)
}

func (l *layer) intent() (*Intent, error) {
	var r reader
	i := &Intent{
		Name: l.Name, Model: l.Model, Priority: l.Priority, Queue: l.Queue,
		Interfaces: l.Interfaces,
		XOFF:       r.perhaps("xoff", l.XOFF), XONOffset: r.perhaps("xon_offset", l.XONOffset),
		Guaranteed: r.perhaps("guaranteed", l.Guaranteed),
	}
	if l.Name == "" {
		r.fail("name", errors.New("missing"))
	}
	i.Kmin, i.Kmax, i.Headroom = r.size("kmin", l.Kmin), r.size("kmax", l.Kmax), r.size("headroom",
		l.Headroom)
	var err error
	i.Pmax, err = bytetuning.ParsePercent(l.Pmax)
	r.fail("pmax", err)
	if (l.Alpha == "") == (l.XOFF == "") {
		r.fail("alpha, xoff", errors.New("want one of the two"))
	}
	if l.Alpha != "" {
		i.Alpha, err = bytetuning.ParseAlpha(l.Alpha)
		r.fail("alpha", err)
	} else if i.XOFF == 0 {
		r.fail("xoff", errors.New("0: want more"))
	}
	if c := l.Chip; c != nil {
		i.Chip = Chip{Cell: r.perhaps("cell", c.Cell), Buffer: r.perhaps("buffer", c.Buffer),
			Ports: c.Ports, Egress: r.perhaps("egress", c.Egress)}
	}
	if l.Traffic != nil {
		i.Traffic.Senders = l.Traffic.Senders
		if l.Traffic.Senders < 0 {
			r.fail("senders", errors.New("want 0 or more"))
		}
	}
	if l.Upstream != nil && l.Upstream.PFC != nil {
		i.Upstream.NoPFC = !*l.Upstream.PFC
	}
	if l.Lossy != nil {
		i.Lossy = &Lossy{Kmax: r.perhaps("lossy kmax", l.Lossy.Kmax)}
		i.Lossy.Alpha, err = bytetuning.ParseAlpha(l.Lossy.Alpha)
		r.fail("lossy alpha", err)
	}
	if r.err != nil {
		return nil, r.err
	}
	return i, nil
}

// Encode writes intents as Parse reads them.
func Encode(intents []*Intent) ([]byte, error) {
	var f file
	for _, i := range intents {
		l := layer{
			Name: i.Name, Model: i.Model, Kmin: i.Kmin.String(), Kmax: i.Kmax.String(),
			Pmax:     i.Pmax.String(),
			Headroom: i.Headroom.String(), XONOffset: optional(i.XONOffset),
			Guaranteed: optional(i.Guaranteed),
			Priority:   i.Priority, Queue: i.Queue, Interfaces: i.Interfaces,
		}
		if i.XOFF > 0 {
			l.XOFF = i.XOFF.String()
		} else {
			l.Alpha = i.Alpha.String()
		}
		if i.Chip != (Chip{}) {
			l.Chip = &chip{optional(i.Chip.Cell), optional(i.Chip.Buffer), i.Chip.Ports,
				optional(i.Chip.Egress)}
		}
		if i.Traffic.Senders > 0 {
			l.Traffic = &traffic{i.Traffic.Senders}
		}
		if i.Upstream.NoPFC {
			no := false
			l.Upstream = &struct {
				PFC *bool `yaml:"pfc"`
			}{&no}
		}
		if i.Lossy != nil {
			l.Lossy = &lossy{i.Lossy.Alpha.String(), optional(i.Lossy.Kmax)}
		}
		f.Layers = append(f.Layers, l)
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(f); err != nil {
		return nil, fmt.Errorf("intent: %w", err)
	}
	return b.Bytes(), e.Close()
}

func optional(b units.Bytes) string {
	if b == 0 {
		return ""
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}
