package sim

import (
	"errors"

	"github.com/goroce/goroce/transport"
	"github.com/goroce/goroce/units"
)

// Messages are WRITEs with immediate to a program that consumes them at its own pace. They belong
// to no flow. A connection has Config.Receives posted receives in each direction.

// The ID of a work request with one of these bits does not refer to a connection of the node.
const (
	ofReceive = 1 << 63 // the rest of the ID is an index of inboxes
	ofReply   = 1 << 62
)

// inbox is an end of a connection that receives messages.
type inbox struct {
	conn  *Conn
	reply bool // the end that sends flows
}

// open posts the receives of both ends.
func (c *Conn) open(receives int) error {
	for range receives {
		if err := c.receive(c.To, false); err != nil {
			return err
		}
		if err := c.receive(c.From, true); err != nil {
			return err
		}
	}
	return nil
}

// receive posts a receive at one end.
func (c *Conn) receive(n *Node, reply bool) error {
	at := &c.inbox
	if reply {
		at = &c.outbox
	}
	if *at == 0 {
		n.inboxes = append(n.inboxes, inbox{c, reply})
		*at = len(n.inboxes)
	}
	qp := c.Remote
	if reply {
		qp = c.QP
	}
	return qp.PostRecv(&transport.RecvRequest{ID: ofReceive | uint64(*at-1)})
}

// Send sends a message. Written is called when it has completed.
func (c *Conn) Send(bytes units.Bytes) error {
	err := c.QP.PostSend(message(c.From, c.To, bytes, c.id))
	c.From.Host.Wake()
	return err
}

// Reply sends a message back, inside Poll.
func (c *Conn) Reply(bytes units.Bytes) {
	c.To.Do(func(units.Time) {
		c.To.note(c.Remote.PostSend(message(c.To, c.From, bytes, ofReply)))
	})
}

func message(from, to *Node, bytes units.Bytes, id uint64) *transport.WorkRequest {
	return &transport.WorkRequest{
		ID: id, Op: transport.OpWriteImm, Signaled: true,
		SGList: []transport.SGE{{Addr: from.source.Addr, Length: uint32(bytes),
			LKey: from.source.LKey}},
		RemoteAddr: to.sink.Addr, RKey: to.sink.RKey,
	}
}

// Do runs a function inside the node's next Poll, which is due at once: work of a program between
// two Polls.
func (n *Node) Do(f func(now units.Time)) {
	n.todo = append(n.todo, f)
	n.Host.Wake()
}

// Consumed reports that the program at To has consumed a message, and posts its receive again,
// inside Poll.
func (c *Conn) Consumed(bytes units.Bytes) {
	c.To.Do(func(units.Time) {
		c.To.note(errors.Join(c.Remote.Admission().Consumed(bytes), c.receive(c.To, false)))
	})
}

func (n *Node) note(err error) {
	if err != nil {
		n.sim.Errors = append(n.sim.Errors, err)
	}
}

// received passes on a message that arrived.
func (n *Node) received(wc *transport.WorkCompletion, now units.Time) {
	at := n.inboxes[wc.ID&^uint64(ofReceive)]
	c, bytes := at.conn, units.Bytes(wc.ByteLen)
	switch {
	case wc.Status != transport.StatusSuccess:
	case at.reply:
		n.note(c.receive(n, true))
		c.Replied(bytes, now)
	default:
		c.Arrived(bytes, now)
	}
}
