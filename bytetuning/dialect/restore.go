package dialect

import (
	"maps"
	"slices"
	"strings"
)

// Restore answers what Undo leaves to be done: the lines of a configuration saved before ours that
// ours has replaced. In a section that ours opens, such as an interface, these are lines with the
// first word of one of ours; outside of sections, lines that differ from one of ours in nothing but
// numbers, names and the last word.
func (r *Rendering) Restore(saved string) string {
	verbs := map[string][]string{} // first words of ours by section
	section := ""
	for line := range strings.Lines(r.Config) {
		if indented(line) {
			verbs[section] = append(verbs[section], strings.Fields(line)[0])
		} else if section = strings.TrimSpace(line); verbs[section] == nil {
			verbs[section] = []string{}
		}
	}
	// new ones, which Undo takes away
	maps.DeleteFunc(verbs, func(section string, inside []string) bool {
		return len(inside) > 0 && strings.Contains(section, prefix)
	})
	last := lastLine(r.Config)
	if last == lastLine(r.Undo) { // commit, and the like
		delete(verbs, last)
	} else {
		last = ""
	}
	var lines []string
	// the last section in lines; the indentation of what was taken from it last, with all below
	opened, depth := "", 0
	section = "" // a line that stands in no section is in none of ours
	for line := range strings.Lines(saved) {
		line = strings.TrimRight(line, " \t\r\n")
		words, in := strings.Fields(line), len(line)-len(strings.TrimLeft(line, " \t"))
		if len(words) > 0 && in == 0 {
			section, depth = line, 0
		}
		if len(words) == 0 || strings.Contains(line, prefix) { // or what an earlier run has left
			continue
		}
		switch {
		case depth > 0 && in > depth:
			lines = append(lines, line)
			continue
		case in > 0 && slices.Contains(verbs[section], words[0]):
			if opened != section {
				lines, opened = append(lines, section), section
			}
			lines, depth = append(lines, line), in
			continue
		}
		depth = 0
		for ours, inside := range verbs {
			if len(inside) == 0 && alike(strings.Fields(ours), words) {
				lines, opened = append(lines, strings.Join(words, " ")), ""
				break
			}
		}
	}
	if len(lines) > 0 && last != "" {
		lines = append(lines, last)
	}
	return text(lines)
}

func indented(line string) bool { return line[0] == ' ' || line[0] == '\t' }

// alike compares words where ours has neither a number, nor a name of ours, nor its last word.
func alike(ours, saved []string) bool {
	if len(ours) < 2 || len(saved) != len(ours) {
		return false
	}
	for i, word := range ours[:len(ours)-1] {
		if word != saved[i] && !strings.HasPrefix(word, prefix) && strings.Trim(word,
			"0123456789") != "" {
			return false
		}
	}
	return true
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}
