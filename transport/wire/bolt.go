package wire

import "github.com/goroce/goroce/units"

// Bolt's part of the extension (Arslan et al., NSDI 2023). A sender writes flags into each data
// packet, switches change them, and their sum comes back with the ACKs; a switch with a queue tells
// the sender itself (SRC).

// BoltFlags are what sender and switches write into a Bolt TLV.
type BoltFlags uint8

// The flags.
const (
	BoltFirst BoltFlags = 1  // of the flow's first window: no switch lets it increase
	BoltLast  BoltFlags = 2  // of the last window: its bandwidth is about to be free
	BoltINC   BoltFlags = 4  // another window follows; still there at the end: one packet more
	BoltDEC   BoltFlags = 8  // a queue was met
	BoltAI    BoltFlags = 16 // once a round trip: additive increase
)

// QueueReport is what a switch says of a queue that is too long.
type QueueReport struct {
	Drain units.Duration // until the queue would be empty; on the wire nanoseconds, at most 2³²−1
	Rate  units.BitRate  // of the link; on the wire in steps of 100 Mb/s
}

// queueReportLen is the length of a report on the wire: rate, drain.
const queueReportLen = 6

func (r QueueReport) put(b []byte) {
	putBE16(b, uint16(min(r.Rate/intRateUnit, 0xffff)))
	putBE32(b[2:], uint32(min(r.Drain/units.Nanosecond, 0xffffffff)))
}

func queueReport(b []byte) QueueReport {
	return QueueReport{Drain: units.Duration(be32(b[2:])) * units.Nanosecond,
		Rate: units.BitRate(be16(b)) * intRateUnit}
}

// BoltLen is the length of a Bolt.
const BoltLen = 12

// Bolt is the TLV of a data packet of a flow that Bolt controls: flags, whom a switch may tell, and
// the longest queue so far. The ICRC takes all of it behind type and length as ones.
type Bolt []byte

// Set writes the whole TLV; sender is the queue pair that switches may tell.
func (t Bolt) Set(flags BoltFlags, sender QPN) {
	putBE32(t, uint32(TLVBolt)<<24|BoltLen/4<<16|uint32(flags)<<8|uint32(sender)>>16&0xff)
	putBE16(t[4:], uint16(sender))
	clear(t[6:BoltLen])
}

// Flags are what is written now.
func (t Bolt) Flags() BoltFlags { return BoltFlags(t[2]) }

// Sender is the queue pair that sent the packet.
func (t Bolt) Sender() QPN { return QPN(be24(t[2:])) }

// Report is the longest queue that the packet met; nothing without BoltDEC.
func (t Bolt) Report() QueueReport { return queueReport(t[6:]) }

// Clear takes flags away.
func (t Bolt) Clear(flags BoltFlags) { t[2] &^= uint8(flags) }

// Congest notes a queue: the packet asks for no increase any more, and of several queues it says
// the longest. It answers whether this is the first one.
func (t Bolt) Congest(r QueueReport) (first bool) {
	first = t.Flags()&BoltDEC == 0
	t.Clear(BoltINC)
	if first || r.Drain > t.Report().Drain {
		r.put(t[6:])
	}
	t[2] |= uint8(BoltDEC)
	return first
}

// FindBolt answers the Bolt of a frame that passes a switch, where it stands, nil when it has none.
// It looks at fixed places only.
func FindBolt(frame []byte) Bolt {
	_, _, t := findTLV(frame, TLVBolt)
	return Bolt(t)
}

// BoltEchoLen is the length of a BoltEcho.
const BoltEchoLen = 16

// BoltEcho is the TLV of an XACK that tells what the packets of the flow have said since it began.
// It counts: an ACK that is lost loses nothing.
type BoltEcho []byte

// BoltCounts is what a receiver has seen of a flow's packets. Counts are modulo their width.
type BoltCounts struct {
	AI, DEC uint16 // packets with the flag
	INC     uint32
	Report  QueueReport // of the newest packet with BoltDEC
}

// Add counts a packet.
func (c *BoltCounts) Add(t Bolt) {
	flags := t.Flags()
	if flags&BoltAI != 0 {
		c.AI++
	}
	if flags&BoltINC != 0 {
		c.INC++
	}
	if flags&BoltDEC != 0 {
		c.DEC++
		c.Report = t.Report()
	}
}

// Set writes the whole TLV.
func (t BoltEcho) Set(c BoltCounts) {
	putBE32(t, uint32(TLVBoltEcho)<<24|BoltEchoLen/4<<16|uint32(c.AI))
	putBE32(t[4:], c.INC)
	putBE16(t[8:], c.DEC)
	c.Report.put(t[10:])
}

// Counts reads it.
func (t BoltEcho) Counts() BoltCounts {
	return BoltCounts{AI: be16(t[2:]), INC: be32(t[4:]), DEC: be16(t[8:]),
		Report: queueReport(t[10:])}
}
