package claims

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const verdictHeader = `# Expected verdicts on the claims of %s, at full scale (docs/lab) and at
# small scale (make lab-small). expect repeats the catalogue's condition. bin/lab check compares
# runs with this file, and bin/lab check --update writes the verdicts of runs into it. Reasons are
# written by hand and kept as long as their verdict stays. machine: true marks a value that depends
# on the machine.
`

// verdictWidth is the width of the lines of a file of verdicts.
const verdictWidth = 96

// WriteVerdicts writes the verdicts on a paper's claims to dir/PAPER.yaml.
func (c *Catalogue) WriteVerdicts(dir, paper string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, verdictHeader, paper)
	for _, e := range c.Experiments {
		if e.Paper() != paper {
			continue
		}
		for i := range e.Claims {
			if v := e.Claims[i].verdicts; v != nil {
				v.write(&b)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, paper+".yaml"), b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("claims: verdicts of %s: %w", paper, err)
	}
	return nil
}

// write writes an entry as YAML.
func (e *verdictEntry) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n- claim: %s\n", e.Claim)
	writeText(b, "  ", "expect", e.Expect)
	if e.ExpectSmall != "" {
		writeText(b, "  ", "expect_small", e.ExpectSmall)
	}
	for _, s := range []Scale{FullScale, SmallScale} {
		if v := *e.at(s); v != nil {
			v.write(b, s)
		}
	}
}

func (v *ExpectedVerdict) write(b *bytes.Buffer, s Scale) {
	if v.Reason == "" && !v.Machine {
		fmt.Fprintf(b, "  %s: {verdict: %s}\n", s, v.Verdict)
		return
	}
	fmt.Fprintf(b, "  %s:\n    verdict: %s\n", s, v.Verdict)
	if v.Machine {
		b.WriteString("    machine: true\n")
	}
	if v.Reason != "" {
		writeText(b, "    ", "reason", v.Reason)
	}
}

// writeText writes a text under a key: in quotes if it fits into the line, folded otherwise.
func writeText(b *bytes.Buffer, indent, key, text string) {
	words := strings.Fields(text)
	line := indent + key + ": '" + strings.ReplaceAll(strings.Join(words, " "), "'", "''") + "'"
	if len(line) <= verdictWidth {
		b.WriteString(line + "\n")
		return
	}
	b.WriteString(indent + key + ": >-\n")
	for len(words) > 0 {
		line, words = indent+"  "+words[0], words[1:]
		for len(words) > 0 && len(line)+1+len(words[0]) <= verdictWidth {
			line, words = line+" "+words[0], words[1:]
		}
		b.WriteString(line + "\n")
	}
}
