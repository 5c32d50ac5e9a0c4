package nicoffload

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// PCIe models the link between a NIC and its host in virtual time.
type PCIe struct {
	Up, Down units.Duration // latency of messages, and of results
	Rate     units.BitRate  // in each direction; 0: infinite
}

// TypicalPCIe has TAURUS's latency of about a microsecond each way (section 3.2), and 16 lanes of
// the fifth generation, at 32 GT/s each.
var TypicalPCIe = PCIe{Up: units.Microsecond, Down: units.Microsecond, Rate: 512 * units.Gbps}

// A write is split into packets with at most pciePayload bytes, each with pcieOverhead bytes in
// addition: a header of 4 DW, sequence number, LCRC and framing (Neugebauer et al., "Understanding
// PCIe performance for end host networking", SIGCOMM 2018, which TAURUS cites as its model).
const (
	pciePayload  = 256
	pcieOverhead = 24
)

// Occupies returns how long a write of n bytes occupies the link.
func (p *PCIe) Occupies(n int) units.Duration {
	if p.Rate <= 0 || n <= 0 {
		return 0
	}
	packets := (n + pciePayload - 1) / pciePayload
	return p.Rate.Duration(units.Bytes(n + packets*pcieOverhead))
}

// DelayedDevice is a Device behind a PCIe link with delay: messages and results take time,
// configuration does not. The agent advances its time.
type DelayedDevice struct {
	Device
	pcie PCIe

	up       []byte // messages in transit, as whole bursts
	bursts   []burst
	upFree   units.Time
	down     []pending
	downFree units.Time
	now      units.Time
}

type burst struct {
	at  units.Time
	len int
}

type pending struct {
	at     units.Time
	result Result
}

// maxPending bounds the number of results in transit.
const maxPending = 4096

// NewDelayedDevice puts a device behind a PCIe link.
func NewDelayedDevice(d Device, p PCIe) (*DelayedDevice, error) {
	if p.Up < 0 || p.Down < 0 || p.Rate < 0 {
		return nil, fmt.Errorf("nicoffload: PCIe latency %v up and %v down at rate %v, want none "+
			"negative", p.Up, p.Down, p.Rate)
	}
	return &DelayedDevice{Device: d, pcie: p, up: make([]byte, 0, 4*UpSlots*Slot),
		bursts: make([]burst, 0, 1024), down: make([]pending, 0, maxPending)}, nil
}

// Advance delivers what is due, and returns when the next delivery is.
func (d *DelayedDevice) Advance(now units.Time) units.Time {
	d.now = now
	if room := cap(d.up) - len(d.up); room >= MaxMessage {
		if n := d.Device.Fetch(d.up[len(d.up):cap(d.up)]); n > 0 {
			d.up = d.up[:len(d.up)+n]
			d.upFree = later(d.upFree, now).Add(d.pcie.Occupies(n))
			d.bursts = append(d.bursts, burst{d.upFree.Add(d.pcie.Up), n})
		}
	}
	done := 0
	for done < len(d.down) && !d.down[done].at.After(now) {
		if one := [1]Result{d.down[done].result}; d.Device.Write(one[:]) == 0 {
			break
		}
		done++
	}
	d.down = d.down[:copy(d.down, d.down[done:])]
	next := now.Add(units.Forever)
	if len(d.bursts) > 0 {
		next = d.bursts[0].at
	}
	if len(d.down) > 0 {
		next = units.Earlier(next, d.down[0].at)
	}
	return later(next, now)
}

// Fetch implements Device.
func (d *DelayedDevice) Fetch(b []byte) (n int) {
	done := 0
	for done < len(d.bursts) && !d.bursts[done].at.After(d.now) {
		one := &d.bursts[done]
		took := whole(d.up[n:n+one.len], len(b)-n)
		copy(b[n:], d.up[n:n+took])
		n += took
		if one.len -= took; one.len > 0 {
			break
		}
		done++
	}
	d.bursts = d.bursts[:copy(d.bursts, d.bursts[done:])]
	d.up = d.up[:copy(d.up, d.up[n:])]
	return n
}

// whole returns the size of the whole messages at the beginning of b that fit into room.
func whole(b []byte, room int) (n int) {
	if len(b) <= room {
		return len(b)
	}
	for {
		length, err := messageLen(b[n:])
		if err != nil || n+length > room {
			return n
		}
		n += length
	}
}

// Write implements Device.
func (d *DelayedDevice) Write(results []Result) int {
	n := min(len(results), cap(d.down)-len(d.down))
	for i := range n {
		d.downFree = later(d.downFree, d.now).Add(d.pcie.Occupies(Slot))
		d.down = append(d.down, pending{d.downFree.Add(d.pcie.Down), results[i]})
	}
	return n
}

func later(t, u units.Time) units.Time {
	if t.Before(u) {
		return u
	}
	return t
}
