package claims

import (
	"path"
	"regexp"
	"strings"
)

// setupWord is what may name a common set-up (pp-micro) or an experiment (tocc/fig7a, fig7a).
var setupWord = regexp.MustCompile(`[A-Za-z]\w*(?:[-/.]\w+)*`)

// explain answers text and, after it, a paragraph for each common set-up and each experiment that
// it names, and that those name in turn. of says what such an experiment's paragraph is.
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

// named answers the experiment that a word of a set-up means: by its id, or within the same paper
// by the part after the slash, where that is no word of English for having a digit.
func (c *Catalogue) named(word, paper string) *Experiment {
	if e := c.Find(word); e != nil || !strings.ContainsAny(word, "0123456789") {
		return e
	}
	return c.Find(path.Join(paper, word))
}
