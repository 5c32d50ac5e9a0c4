package intent

import (
	"fmt"

	"github.com/goroce/goroce/units"
)

// Finding is something that a configuration will be sorry for.
type Finding struct {
	Layer  string
	Case   string // I, II or III of section 2.2; "" is what Validate refuses
	Says   string
	Remedy string
}

func (f Finding) String() string {
	if f.Case == "" {
		return f.Says
	}
	return fmt.Sprintf("%s: case %s: %s; %s", f.Layer, f.Case, f.Says, f.Remedy)
}

// Lint looks for the paper's three cases, and for what Validate refuses. What it cannot know it
// answers as questions.
func Lint(i *Intent) (findings []Finding, questions []string) {
	add := func(kind, remedy, format string, args ...any) {
		findings = append(findings, Finding{i.Name, kind, fmt.Sprintf(format, args...), remedy})
	}
	ask := func(format string, args ...any) {
		questions = append(questions, i.Name+": "+fmt.Sprintf(format, args...))
	}
	xoff := i.PausesAt()
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

// caseI: PFC pauses at a queue that ECN does not yet mark in full, and what is paused cannot pause
// in its turn.
func (i *Intent) caseI(xoff units.Bytes, add addFunc, ask askFunc) {
	if xoff == 0 {
		ask("how large is the buffer (chip: {buffer, ports})? Kmax %v cannot be compared with XOFF",
			i.Kmax)
		return
	}
	if i.Kmax < xoff {
		return
	}
	says := fmt.Sprintf("Kmax %v is not below XOFF %v: PFC comes before ECN", i.Kmax, xoff)
	if i.Upstream.NoPFC {
		says += ", and upstream switches without PFC go on sending into a full buffer"
	}
	add("I", fmt.Sprintf("lower Kmax below %v", xoff), "%s", says)
}

// caseII: so many senders fill an egress queue, or the buffer, before any one of them has filled
// its ingress to XOFF.
func (i *Intent) caseII(xoff units.Bytes, add addFunc, ask askFunc) {
	n := i.Traffic.Senders
	if n == 0 {
		ask("how many ports send to one at once (traffic: {senders})? Case II was not looked for")
		return
	}
	if i.Chip.Buffer == 0 {
		return // asked in case I
	}
	shared := i.Chip.Buffer - units.Bytes(max(1, i.Chip.Ports))*(i.Headroom+i.Guaranteed)
	// At the moment when all senders are at their threshold, so much is in the buffer.
	total := units.Bytes(n) * i.XOFF
	if i.XOFF == 0 {
		a := i.Alpha.Float()
		total = units.Bytes(float64(n) * a / (1 + float64(n)*a) * float64(shared))
	}
	switch {
	case total > shared:
		add("II", fmt.Sprintf("lower XOFF to %v or less", max(0, shared)/units.Bytes(n)),
			"%d senders at XOFF %v need %v, where %v is shared: late ones find it full before "+
				"they pause anybody", n, xoff, total, max(0, shared))
	case i.Chip.Egress > 0 && total > i.Chip.Egress:
		add("II", fmt.Sprintf("lower XOFF (alpha) so that %d senders hold less than %v", n,
			i.Chip.Egress),
			"%d senders hold %v before they pause, and the egress queue %v: it drops before", n,
			total, i.Chip.Egress)
	}
}

// caseIII: a class without PFC may take as much of the buffer as this one, or more.
func (i *Intent) caseIII(add addFunc, ask askFunc) {
	switch l := i.Lossy; {
	case l == nil:
		ask("does TCP share the buffer (lossy: {alpha, kmax})? Case III was not looked for")
	case i.XOFF == 0 && l.Alpha >= i.Alpha && (l.Kmax == 0 || l.Kmax > i.Kmax):
		add("III", "lower the lossy class's alpha or its WRED threshold, or raise this one's "+
			"watermarks",
			"the lossy class may take alpha %v of the free buffer, this one %v, and drops only %s",
			l.Alpha, i.Alpha, above(l.Kmax))
	}
}

func above(kmax units.Bytes) string {
	if kmax == 0 {
		return "when it is full"
	}
	return fmt.Sprintf("above %v", kmax)
}
