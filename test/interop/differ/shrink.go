package differ

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// largestPayload is a little more than the largest path MTU.
const largestPayload = 4096 + 4

// shrinkTries bounds how often a case is run to make it smaller.
const shrinkTries = 150

// Shrink leaves out packets of a case that failed, as long as it fails without them, and returns
// what came of the smallest.
func Shrink(ours, theirs Responder, r *Result) (*Result, error) {
	best := r
	if r.Unknown.At < len(r.Case.Packets) {
		c := *r.Case
		c.Packets = slices.Clone(c.Packets[:r.Unknown.At+1])
		best = &Result{
			Case:    &c,
			Unknown: r.Unknown,
			Trace:   r.Trace,
			Packets: r.Packets,
			Known:   r.Known,
		}
	}
	for size, tries := len(best.Case.Packets)/2, 0; size > 0; size /= 2 {
		for at := 0; at+size <= len(best.Case.Packets) && tries < shrinkTries; {
			smaller := best
			for _, c := range without(best.Case, at, size) {
				tries++
				r, err := Run(ours, theirs, c)
				if err != nil {
					return best, err
				}
				if r.Unknown != nil {
					smaller = r
					break
				}
			}
			if smaller == best {
				at += size
			}
			best = smaller
		}
	}
	return best, nil
}

// without returns a case without n of its packets: once with the others closed up, so that they
// have the sequence numbers that an honest requester would give them then, and once as they are.
func without(c *Case, at, n int) []*Case {
	closed, same := *c, *c
	same.Packets = slices.Delete(slices.Clone(c.Packets), at, at+n)
	closed.Packets = slices.Clone(same.Packets)
	if at < len(same.Packets) {
		by := c.Packets[at+n].PSN - c.Packets[at].PSN
		for i := range closed.Packets[at:] {
			closed.Packets[at+i].PSN -= by
		}
	}
	return []*Case{&closed, &same}
}

// Encode writes a case so that Decode reads it, a packet in a line.
func (c *Case) Encode() []byte {
	head := *c
	head.Packets = nil
	b, _ := json.Marshal(&head) // it has nothing that cannot be
	b = append(b, '\n')
	for i := range c.Packets {
		p, _ := json.Marshal(&c.Packets[i])
		b = append(append(b, p...), '\n')
	}
	return b
}

// Decode reads a case that Encode wrote, and perhaps somebody changed.
func Decode(text []byte) (*Case, error) {
	c := &Case{}
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var err error
		if i == 0 {
			err = json.Unmarshal(line, c)
		} else {
			p := Packet{}
			err = json.Unmarshal(line, &p)
			c.Packets = append(c.Packets, p)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of the case: %w", i+1, err)
		}
	}
	return c, c.validate()
}

// validate reports what would not be a case.
func (c *Case) validate() error {
	if _, ok := ibvMTU[c.MTU]; !ok {
		return fmt.Errorf("MTU %d: none of 256, 512, 1024, 2048, 4096", c.MTU)
	}
	if c.Recvs < 0 || c.Recvs > depth || c.RecvLen < 0 || c.Recvs*c.RecvLen > regionSize {
		return fmt.Errorf(
			"%d receives of %d bytes: at most %d, in %d bytes",
			c.Recvs,
			c.RecvLen,
			depth,
			regionSize,
		)
	}
	for i := range c.Packets {
		p := &c.Packets[i]
		if p.Region < 0 || p.Region >= regions || p.Payload < 0 || p.Payload > largestPayload {
			return fmt.Errorf(
				"packet %d: region %d or payload %d out of range",
				i,
				p.Region,
				p.Payload,
			)
		}
	}
	return nil
}
