package dialect

import (
	"maps"
	"slices"
	"strings"
)

// Restore returns the lines of a previously saved configuration that Config replaced, to enter
// after Undo. In a section that Config opens, such as an interface, these are the lines with the
// same first word as a line of Config. Outside sections, these are the lines that differ from a
// line of Config only in numbers, profile names and the last word.
func (r *Rendering) Restore(saved string) string {
	verbs := map[string][]string{} // first words of our lines, by section
	section := ""
	for line := range strings.Lines(r.Config) {
		if indented(line) {
			verbs[section] = append(verbs[section], strings.Fields(line)[0])
		} else if section = strings.TrimSpace(line); verbs[section] == nil {
			verbs[section] = []string{}
		}
	}
	// new sections, which Undo removes
	maps.DeleteFunc(verbs, func(section string, inside []string) bool {
		return len(inside) > 0 && strings.Contains(section, prefix)
	})
	last := lastLine(r.Config)
	if last == lastLine(r.Undo) { // for example commit
		delete(verbs, last)
	} else {
		last = ""
	}
	var lines []string
	// opened is the last section header in lines. depth is the indentation of the line restored
	// last; its block follows.
	opened, depth := "", 0
	section = "" // a line that stands in no section is in none of ours
	for line := range strings.Lines(saved) {
		line = strings.TrimRight(line, " \t\r\n")
		words, indent := strings.Fields(line), len(line)-len(strings.TrimLeft(line, " \t"))
		if len(words) > 0 && indent == 0 {
			section, depth = line, 0
		}
		if len(words) == 0 || strings.Contains(line, prefix) { // empty, or left by an earlier run
			continue
		}
		switch {
		case depth > 0 && indent > depth:
			lines = append(lines, line)
			continue
		case indent > 0 && slices.Contains(verbs[section], words[0]):
			if opened != section {
				lines, opened = append(lines, section), section
			}
			lines, depth = append(lines, line), indent
			continue
		}
		depth = 0
		for ours, inside := range verbs {
			if len(inside) == 0 && sameCommand(strings.Fields(ours), words) {
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

// sameCommand reports whether two lines have the same words, except for numbers, our profile names
// and the last word.
func sameCommand(ours, saved []string) bool {
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
