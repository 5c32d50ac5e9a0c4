package intent

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Finding is a misconfiguration with its remedy.
type Finding struct {
	Layer   string
	Case    string // I, II or III of section 2.2; "" for an error of Validate
	Message string
	Remedy  string
}

func (f Finding) String() string {
	if f.Case == "" {
		return f.Message
	}
	return fmt.Sprintf("%s: case %s: %s; %s", f.Layer, f.Case, f.Message, f.Remedy)
}

// Lint looks for the paper's three cases and for errors of Validate. questions lists missing
// information that it needs.
func Lint(i *Intent) (findings []Finding, questions []string) {
	add := func(kind, remedy, format string, args ...any) {
		findings = append(findings, Finding{i.Name, kind, fmt.Sprintf(format, args...), remedy})
	}
	ask := func(format string, args ...any) {
		questions = append(questions, i.Name+": "+fmt.Sprintf(format, args...))
	}
	xoff := i.PauseThreshold()
	if _, err := i.Validate(); err != nil && (xoff == 0 || i.Kmax < xoff) {
		add("", "", "%v", err)
	}
	i.caseI(xoff, add, ask)
	i.caseII(xoff, add, ask)
	i.caseIII(add, ask)
	return findings, questions
}

type (
	addFunc func(kind, remedy, format string, args ...any)
	askFunc func(format string, args ...any)
)

// caseI finds a PFC threshold at or below Kmax: PFC pauses before ECN marks every packet. It is
// worse if the paused switches cannot pause their own peers.
func (i *Intent) caseI(xoff units.Bytes, add addFunc, ask askFunc) {
	if xoff == 0 {
		ask("size of the buffer (chip: {buffer, ports}): Kmax %v was not compared with XOFF",
			i.Kmax)
		return
	}
	if i.Kmax < xoff {
		return
	}
	message := fmt.Sprintf("Kmax %v is not below XOFF %v: PFC acts before ECN", i.Kmax, xoff)
	if i.Upstream.NoPFC {
		message += ", and upstream switches without PFC keep sending into a full buffer"
	}
	add("I", fmt.Sprintf("lower Kmax below %v", xoff), "%s", message)
}

// caseII finds a number of senders that fill the egress queue, or the buffer, before any ingress
// port reaches XOFF.
func (i *Intent) caseII(xoff units.Bytes, add addFunc, ask askFunc) {
	n := i.Traffic.Senders
	if n == 0 {
		ask("ports that send to one port at once (traffic: {senders}): case II was not checked")
		return
	}
	if i.Chip.Buffer == 0 {
		return // asked in case I
	}
	shared := i.Chip.Buffer - units.Bytes(max(1, i.Chip.Ports))*(i.Headroom+i.Guaranteed)
	// total is the buffer occupancy when every sender is at its threshold.
	total := units.Bytes(n) * i.XOFF
	if i.XOFF == 0 {
		a := i.Alpha.Float()
		total = units.Bytes(float64(n) * a / (1 + float64(n)*a) * float64(shared))
	}
	switch {
	case total > shared:
		add("II", fmt.Sprintf("lower XOFF to %v or less", max(0, shared)/units.Bytes(n)),
			"%d senders at XOFF %v need %v, but only %v is shared: the buffer is full before "+
				"the last ports pause", n, xoff, total, max(0, shared))
	case i.Chip.Egress > 0 && total > i.Chip.Egress:
		add("II", fmt.Sprintf("lower XOFF (alpha) so that %d senders hold less than %v", n,
			i.Chip.Egress),
			"%d senders hold %v before they pause, but an egress queue holds %v: it drops first", n,
			total, i.Chip.Egress)
	}
}

// caseIII finds a class without PFC that may use at least as much of the buffer as this one.
func (i *Intent) caseIII(add addFunc, ask askFunc) {
	switch l := i.Lossy; {
	case l == nil:
		ask("TCP in the same buffer (lossy: {alpha, kmax}): case III was not checked")
	case i.XOFF == 0 && l.Alpha >= i.Alpha && (l.Kmax == 0 || l.Kmax > i.Kmax):
		add("III", "lower the lossy class's alpha or its WRED threshold, or raise this one's "+
			"watermarks",
			"the lossy class may use alpha %v of the free buffer, this one %v, and it drops "+
				"only %s",
			l.Alpha, i.Alpha, above(l.Kmax))
	}
}

func above(kmax units.Bytes) string {
	if kmax == 0 {
		return "when the buffer is full"
	}
	return fmt.Sprintf("above %v", kmax)
}
