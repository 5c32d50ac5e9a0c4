package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/goroce/goroce/trace/analysis"
	"github.com/goroce/goroce/units"
)

// source is what the readers of pcap and pcapng have in common.
type source interface {
	ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error)
	LinkType() layers.LinkType
}

// counter counts the bytes that pass.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// maxSnapLen bounds what a file may make us allocate for one packet.
const maxSnapLen = 1 << 20

// Error is an error of a capture: where, and what is wrong.
type Error struct {
	Offset  int64  // bytes
	Packets uint64 // that were read before
	Rule    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("byte %d, after %d packets: %v", e.Offset, e.Packets, e.Rule)
}

// Unwrap returns the rule.
func (e *Error) Unwrap() error { return e.Rule }

// Read reads a capture into a report, and calls progress with the offset now and then. After an
// error the report has what came before it.
func Read(in io.Reader, r *analysis.Report, progress func(offset int64)) error {
	count := &counter{r: in}
	buffered := bufio.NewReaderSize(count, 1<<20)
	offset := func() int64 { return count.n - int64(buffered.Buffered()) }
	packets, linkOf, err := open(buffered)
	if err != nil {
		return &Error{offset(), 0, err}
	}
	a := newAnalyzer(r)
	defer a.end()
	var p packet
	for {
		at := offset()
		data, info, err := packets.ZeroCopyReadPacketData()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return &Error{at, r.Items, errors.New("the packet is cut off: the file ends inside it")}
		case err != nil:
			return &Error{at, r.Items, err}
		}
		p.at = fromUnix(info.Timestamp)
		r.Item(p.at)
		if p.parse(linkOf(info), data) {
			a.packet(&p)
		} else {
			r.Foreign++
		}
		if r.Items&0xffff == 0 {
			progress(offset())
		}
	}
}

// fromUnix returns a time in picoseconds since 1970, modulo 2^63: only differences count.
func fromUnix(t time.Time) units.Time { return units.Time(t.UnixNano() * 1000) }

// The first bytes of the formats (draft-ietf-opsawg-pcap and -pcapng).
const (
	magicPcapng   = 0x0a0d0d0a
	magicPcap     = 0xa1b2c3d4
	magicPcapNano = 0xa1b23c4d
)

// Is reports whether data begins as a capture does.
func Is(data []byte) bool {
	if len(data) < 4 {
		return false
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		switch order.Uint32(data) {
		case magicPcapng, magicPcap, magicPcapNano:
			return true
		}
	}
	return false
}

// open returns a reader of packets, and a function that returns the link type of a packet.
func open(in *bufio.Reader) (source, func(gopacket.CaptureInfo) layers.LinkType, error) {
	head, err := in.Peek(4)
	if err != nil || !Is(head) {
		return nil, nil, errors.New("not a capture: it begins with neither pcap's nor pcapng's " +
			"magic number")
	}
	if binary.LittleEndian.Uint32(head) == magicPcapng {
		ng, err := pcapgo.NewNgReader(in, pcapgo.NgReaderOptions{WantMixedLinkType: true,
			SkipUnknownVersion: true})
		if err != nil {
			return nil, nil, fmt.Errorf("pcapng: %w", err)
		}
		return ng, func(info gopacket.CaptureInfo) layers.LinkType {
			face, err := ng.Interface(info.InterfaceIndex)
			if err != nil {
				return layers.LinkTypeNull
			}
			return face.LinkType
		}, nil
	}
	pcap, err := pcapgo.NewReader(in)
	if err != nil {
		return nil, nil, fmt.Errorf("pcap: %w", err)
	}
	if pcap.Snaplen() > maxSnapLen || pcap.Snaplen() == 0 {
		pcap.SetSnaplen(maxSnapLen)
	}
	return pcap, func(gopacket.CaptureInfo) layers.LinkType { return pcap.LinkType() }, nil
}

// end adds what the capture lacks.
func (a *analyzer) end() {
	for _, e := range Explanations {
		a.report.Note(e)
	}
	unpaired := 0
	for _, t := range a.trackers {
		if t.reliable && !t.paired {
			unpaired++
		}
	}
	if unpaired > 0 {
		a.report.Note(fmt.Sprintf("Of %d flows no acknowledgement was found, so that their round "+
			"trips, goodput and NAKs are unknown: the capture has one direction, or not the "+
			"beginning.", unpaired))
	}
}
