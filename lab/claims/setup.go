package claims

import (
	"path"
	"regexp"
	"strings"
)

// setupWord matches a word that may name a common set-up (pp-micro) or an experiment (tocc/fig7a,
// fig7a).
var setupWord = regexp.MustCompile(`[A-Za-z]\w*(?:[-/.]\w+)*`)

// explain returns text followed by a paragraph for each common set-up and each experiment that it
// names, recursively. of returns an experiment's paragraph.
func (c *Catalogue) explain(e *Experiment, text string, of func(*Experiment) string) string {
	paragraphs := []string{text}
	explained := map[string]bool{e.ID: true}
	for i := 0; i < len(paragraphs); i++ {
		for _, word := range setupWord.FindAllString(paragraphs[i], -1) {
			name, meaning := word, c.Common[word]
			if other := c.named(word, e.Paper()); meaning == "" && other != nil {
				name, meaning = other.ID, of(other)
			}
			if meaning != "" && !explained[name] {
				explained[name] = true
				paragraphs = append(paragraphs, name+": "+meaning)
			}
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// named returns the experiment that a word of a set-up names: by its id, or within the same paper
// by the part after the slash if that has a digit and so is not an English word.
func (c *Catalogue) named(word, paper string) *Experiment {
	if e := c.Find(word); e != nil || !strings.ContainsAny(word, "0123456789") {
		return e
	}
	return c.Find(path.Join(paper, word))
}
