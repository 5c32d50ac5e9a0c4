package report

import (
	"strings"

	"github.com/goroce/goroce/lab/claims"
)

// Share is how many of some claims hold.
type Share struct {
	Confidence  string
	Hold, Total int // of the claims that were judged
}

// Percent is the share that holds.
func (s Share) Percent() int { return (200*s.Hold + s.Total) / max(2*s.Total, 1) }

// Shares are the shares of high, medium and low confidence.
func (p *Paper) Shares() []Share {
	out := []Share{{Confidence: "high"}, {Confidence: "medium"}, {Confidence: "low"}}
	p.each(func(c *Claim) {
		for i := range out {
			if c.Confidence != out[i].Confidence || c.Mark == claims.NotJudged {
				continue
			}
			out[i].Total++
			if c.Mark == claims.Holds {
				out[i].Hold++
			}
		}
	})
	return out
}

// NotJudged counts the claims that were not judged.
func (p *Paper) NotJudged() (n int) {
	p.each(func(c *Claim) { n += c.count().NotJudged })
	return n
}

// Failing are the claims that fail, those of high confidence first.
func (p *Paper) Failing() []*Claim {
	return p.choose(func(c *Claim) bool { return c.Mark == claims.Fails })
}

// Vacuous are the claims that hold and do not discriminate.
func (p *Paper) Vacuous() []*Claim {
	return p.choose(func(c *Claim) bool {
		return c.Mark == claims.Holds && (c.Vacuous() || c.HoldsExchanged != "")
	})
}

func (p *Paper) choose(want func(*Claim) bool) (out []*Claim) {
	for _, confidence := range []string{"high", "medium", "low"} {
		p.each(func(c *Claim) {
			if c.Confidence == confidence && want(c) {
				out = append(out, c)
			}
		})
	}
	return out
}

func (p *Paper) each(do func(*Claim)) {
	for _, e := range p.Experiments {
		for i := range e.Claims {
			do(&e.Claims[i])
		}
	}
}

// Vacuous counts the claims that hold and do not discriminate.
func (p *Page) Vacuous() (n int) {
	for _, paper := range p.Papers {
		n += len(paper.Vacuous())
	}
	return n
}

// Exchanged counts the claims that were judged with exchanged results; Discriminating those that
// fail then, Indifferent those that hold.
func (p *Page) Exchanged() int { return p.Discriminating() + p.Indifferent() }

// Discriminating is explained at Exchanged.
func (p *Page) Discriminating() int { return p.exchanged(false) }

// Indifferent is explained at Exchanged.
func (p *Page) Indifferent() int { return p.exchanged(true) }

func (p *Page) exchanged(holds bool) (n int) {
	for _, paper := range p.Papers {
		paper.each(func(c *Claim) {
			if c.Exchange != nil && c.Exchange.Holds == holds {
				n++
			}
		})
	}
	return n
}

// Why returns why a claim fails: the reason of its committed verdict, or the note of the run.
func (c *Claim) Why() string {
	if c.Verdict.Reason != "" {
		return c.Verdict.Reason
	}
	return c.Note
}

// Group returns the paper's name, the first part of the id.
func (c *Claim) Group() string {
	name, _, _ := strings.Cut(c.ID, "/")
	return name
}
