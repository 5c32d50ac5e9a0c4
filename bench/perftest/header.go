package perftest

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/goroce/goroce/internal/connect"
)

// header prints perftest's header.
func (c *console) header(x *session) {
	if c.isBrief() {
		return
	}
	s := x.settings
	client := !x.server || s.Bidirectional
	server := x.server || s.Bidirectional
	bw := s.Test.Kind == Bandwidth
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("%s                    %s\n", line, s.title())
	p(" Dual-port       : OFF\t\tDevice         : %s\n", s.Device)
	p(" Number of qps   : %d\t\tTransport type : IB\n", s.QPs)
	p(" Connection type : %v\t\tUsing SRQ      : OFF\n", s.Connection)
	p(" PCIe relax order: OFF\t\tLock-free      : OFF\n")
	p(" ibv_wr* API     : OFF\t\tUsing Enhanced Reorder      : OFF\n")
	if client {
		p(" TX depth        : %d\n", s.TxDepth)
	}
	if server && s.Test.Verb == Send {
		p(" RX depth        : %d\n", s.RxDepth)
	}
	if s.PostList > 1 {
		p(" Post List       : %d\n", s.PostList)
	}
	if bw {
		p(" CQ Moderation   : %d\n", s.cqMod(s.Size))
		p(" CQE Poll Batch  : Dynamic\n")
	}
	p(" Mtu             : %d[B]\n", x.mtu)
	p(" Link type       : Ethernet\n")
	p(" GID index       : %d\n", s.GIDIndex)
	if s.Test.isOneSided() {
		p(" Outstand reads  : %d\n", s.Outs)
	} else {
		p(" Max inline data : %d[B]\n", s.Inline)
	}
	p(" rdma_cm QPs\t : %s\n", s.cmQPs())
	p(" Data ex. method : %s\n", s.dataExchange())
	p("%s", line)
	for i := range x.mine.QPs {
		p("%s", s.address("local", x.mine, i))
	}
	for i := range x.theirs.QPs {
		p("%s", s.address("remote", x.theirs, i))
	}
	p("%s%s", line, s.heading())
	fmt.Fprint(c.out, b.String())
}

// cmQPs returns the header's value of "rdma_cm QPs".
func (s *Settings) cmQPs() string {
	if s.CM {
		return "ON"
	}
	return "OFF"
}

// dataExchange returns the header's value of "Data ex. method".
func (s *Settings) dataExchange() string {
	if s.CM {
		return "rdma_cm"
	}
	return "Ethernet"
}

// address formats one side's queue pair for the header.
func (s *Settings) address(side string, h *connect.Hello, i int) string {
	q, r := h.QPs[i], h.Regions[i]
	text := fmt.Sprintf(" %s address: LID 0000 QPN 0x%04x PSN 0x%06x", side, q.Num, q.PSN)
	if s.CM { // perftest prints no more with -R
		return text + "\n GID: " + gid(h.Addr) + "\n"
	}
	if s.Test.Verb == Read {
		text += fmt.Sprintf(" OUT 0x%02x", h.RdAtomic)
	}
	if s.Test.Verb == Write || s.Test.Verb == Read {
		text += fmt.Sprintf(" RKey 0x%06x VAddr 0x%014x", r.RKey, r.Addr)
	}
	return text + "\n GID: " + gid(h.Addr) + "\n"
}

// gid formats an address as perftest does: sixteen bytes in decimal, IPv4 mapped.
func gid(a netip.Addr) string {
	var words []string
	for _, b := range a.As16() {
		words = append(words, fmt.Sprintf("%02d", b))
	}
	return strings.Join(words, ":")
}
