package cc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goroce/goroce/cc/cctest"
)

// TestDocument checks that the tables in docs/cc.md are up to date.
func TestDocument(t *testing.T) { cctest.Document(t, "cc.md", "cc", tables()) }

func tables() string {
	var b strings.Builder
	for _, name := range Names() {
		e, _ := lookup(name)
		s := e.schema()
		fmt.Fprintf(&b, "\n### %s\n\n%s.", e.name, strings.ToUpper(e.title[:1])+e.title[1:])
		if e.needs != 0 {
			fmt.Fprintf(&b, " Needs %v.", e.needs)
		}
		b.WriteString("\n\n" + (&Settings{*s}).Table())
		for i, o := range s.orders {
			if i == 0 {
				b.WriteString("\n")
			} else {
				b.WriteString(" ")
			}
			fmt.Fprintf(&b, "`%s` %s `%s`.", o.low, map[bool]string{true: "may not be more than",
				false: "must be less than"}[o.equal], o.high)
			if i == len(s.orders)-1 {
				b.WriteString("\n")
			}
		}
	}
	b.WriteString("\n")
	return b.String()
}
