package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/goroce/goroce/test/interop/matrix"
)

// wire is a second path to the guests' switch, through roce_impair: an endpoint of ours uses
// shaped0, its frames appear on shaped1, and the box forwards them to eth0 and the switch.
//
//	endpoint ─ shaped0 ═ shaped1 ─ roce_impair ─ eth0 ═ br0 ─ tap-a ─ guest a
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

// rules returns the name of the rule file for a cell's impairment.
func rules(c matrix.Cell) string {
	return filepath.Join("test", "interop", "testdata", string(c.Impair)+".yaml")
}

// counts are what roce_impair did in one direction.
type counts struct {
	RoCE       uint64 `json:"roce"` // RoCEv2 packets
	Lost       uint64 `json:"lost"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Corrupted  uint64 `json:"corrupted"`
	Marked     uint64 `json:"marked"`    // with congestion experienced
	Notified   uint64 `json:"cnps"`      // CNPs made by the wire
	CNPs       uint64 `json:"sent_cnps"` // CNPs of the sender
	Backward   uint64 `json:"becns"`     // other packets with BECN
}

// plus returns the sum of two directions' counts.
func (c counts) plus(o counts) counts {
	return counts{c.RoCE + o.RoCE, c.Lost + o.Lost, c.Duplicated + o.Duplicated,
		c.Reordered + o.Reordered, c.Corrupted + o.Corrupted, c.Marked + o.Marked,
		c.Notified + o.Notified, c.CNPs + o.CNPs, c.Backward + o.Backward}
}

// faults returns the number of faults.
func (c counts) faults() uint64 {
	return c.Lost + c.Duplicated + c.Reordered + c.Corrupted + c.Marked
}

func (c counts) String() string {
	text := []string{fmt.Sprintf("of %d packets", c.RoCE)}
	for _, f := range []struct {
		n    uint64
		what string
	}{{c.Lost, "lost"}, {c.Duplicated, "repeated"}, {c.Reordered, "reordered"},
		{c.Corrupted, "corrupted"}, {c.Marked, "marked"}, {c.Notified, "answered with a CNP"},
		{c.CNPs, "were CNPs"}, {c.Backward, "had BECN"}} {
		if f.n > 0 {
			text = append(text, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	return strings.Join(text, " ")
}

// shape runs roce_impair with a rule file until stop is called, which returns what it did: to our
// packets, and to the guest's.
func (*wire) shape(ctx context.Context, root, rules string, seed uint64) (
	stop func() ([2]counts, error), err error) {
	report := filepath.Join(os.TempDir(), fmt.Sprintf("interop-wire-%d.json", os.Getpid()))
	box := launch(filepath.Join(root, "bin", "roce_impair"), "-d", "af_packet:"+shaperEnd, "-d",
		"af_packet:"+iface, "--rules", filepath.Join(root, rules), "--seed", fmt.Sprint(seed),
		"--json", report)
	if err := box.says(ctx, "forwarding between"); err != nil {
		box.end()
		return nil, err
	}
	return func() ([2]counts, error) {
		defer os.Remove(report)
		box.end()
		if err := box.outcome().err(); err != nil {
			return [2]counts{}, err
		}
		var did struct {
			A counts `json:"from_a"`
			B counts `json:"from_b"`
		}
		text, err := os.ReadFile(report)
		if err == nil {
			err = json.Unmarshal(text, &did)
		}
		return [2]counts{did.A, did.B}, err
	}, nil
}
