package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/goroce/goroce/test/interop/matrix"
	"github.com/goroce/goroce/test/interop/shaper"
)

// wire is a second path to the guests' switch, through a shaper: an endpoint of ours uses shaped0,
// its frames appear on shaped1, and the shaper forwards them to eth0 and the switch.
//
//	endpoint ─ shaped0 ═ shaped1 ─ shaper ─ eth0 ═ br0 ─ tap-a ─ guest a
type wire struct{}

// The ends of the wire.
const (
	shapedEnd = "shaped0"
	shaperEnd = "shaped1"
)

func layWire() (*wire, error) { return &wire{}, layPair(shapedEnd, shaperEnd) }

func (*wire) remove() { removePair(shapedEnd) }

// layPair creates a veth pair with the MTU of eth0.
func layPair(a, b string) error {
	removePair(a) // left by a run that was killed
	for _, line := range []string{
		"ip link add " + a + " type veth peer name " + b,
		"ip link set " + a + " addrgenmode none", // keeps the kernel from sending there
		"ip link set " + b + " addrgenmode none",
		"ip link set " + a + " mtu 4200 up",
		"ip link set " + b + " mtu 4200 up",
	} {
		if err := command(strings.Fields(line)...); err != nil {
			return err
		}
	}
	return nil
}

func removePair(a string) { _ = command("ip", "link", "del", a) }

// command runs a command of the host in the current namespace.
func command(line ...string) error {
	if out, err := exec.Command(line[0], line[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(line, " "), err,
			strings.TrimSpace(string(out)))
	}
	return nil
}

// faults returns the shaper's faults for a cell's impairment.
func faults(c matrix.Cell) shaper.Faults {
	const alone, together, marks, overflow = 0.03, 0.015, 0.1, 0.01
	switch c.Impair {
	case matrix.Loss:
		return shaper.Faults{Loss: alone}
	case matrix.Duplication:
		return shaper.Faults{Duplication: alone}
	case matrix.Reordering:
		return shaper.Faults{Reordering: alone}
	case matrix.Corruption:
		return shaper.Faults{Corruption: alone}
	case matrix.Everything:
		return shaper.Faults{Loss: together, Duplication: together, Reordering: together,
			Corruption: together}
	case matrix.Marks:
		return shaper.Faults{Congestion: shaper.Congestion{Marks: marks}}
	case matrix.MarksLoss:
		return shaper.Faults{Loss: overflow, Congestion: shaper.Congestion{Marks: marks}}
	case matrix.CNPs:
		return shaper.Faults{Congestion: shaper.Congestion{Marks: marks, For: c.Congested(),
			Notify: true}}
	}
	return shaper.Faults{}
}

// shape runs a shaper until stop is called, which returns what it did: to our packets, and to the
// guest's.
func (*wire) shape(f shaper.Faults, seed uint64) (stop func() ([2]shaper.Counts, error),
	err error) {
	ours, _, err := shaper.Open(shaperEnd)
	if err != nil {
		return nil, err
	}
	theirs, kernels, err := shaper.Open(iface)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, done := shaper.New(ours, theirs, kernels, f, seed), make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() ([2]shaper.Counts, error) {
		cancel()
		err := <-done
		for _, c := range []io.Closer{ours, theirs} {
			err = errors.Join(err, c.Close())
		}
		return s.Counts(), err
	}, nil
}
