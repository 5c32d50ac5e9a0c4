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
	var b strings.Builder
	fmt.Fprintf(&b, "%s                    %s\n%s%s", line, s.title(), printed(x.columns()), line)
	for i := range x.mine.QPs {
		b.WriteString(s.address("local", x.mine, i))
	}
	for i := range x.theirs.QPs {
		b.WriteString(s.address("remote", x.theirs, i))
	}
	fmt.Fprintf(&b, "%s%s", line, s.heading())
	fmt.Fprint(c.out, b.String())
}

// cmQPs returns the header's value of "rdma_cm QPs".
func (s *Settings) cmQPs() string {
	return onOff(s.connectsByCM())
}

// onOff returns a switch's state as perftest prints it.
func onOff(on bool) string {
	if on {
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
	if s.connectsByCM() { // perftest prints no more with -R
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
