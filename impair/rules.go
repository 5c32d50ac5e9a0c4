package impair

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/goroce/goroce/units"
)

// Rules is a rule file.
type Rules struct {
	Seed  uint64 `yaml:"seed"`
	Rules []Rule `yaml:"-"`
}

// Rule selects packets and does one thing to them.
type Rule struct {
	Name string `yaml:"name"`

	// From is the port at which the packets arrive: a, b, or both, the default.
	From string     `yaml:"from"`
	Op   operations `yaml:"op"`  // names of opcodes or operations; empty: all
	QP   numbers    `yaml:"qp"`  // destination queue pairs; empty: all
	PSN  numbers    `yaml:"psn"` // empty: all

	// Which of these packets: with Probability, or every Every-th, or those with the numbers Nth,
	// from 1; by default all. After and For are a time span since the first RoCEv2 packet.
	Probability *share   `yaml:"probability"`
	Every       int      `yaml:"every"`
	Nth         numbers  `yaml:"nth"`
	After       duration `yaml:"after"`
	For         duration `yaml:"for"`

	// What happens to them: one of these.
	Lose      bool     `yaml:"lose"`
	Duplicate int      `yaml:"duplicate"` // further copies
	Reorder   int      `yaml:"reorder"`   // packets that overtake it
	Corrupt   int      `yaml:"corrupt"`   // bits that are inverted
	Delay     duration `yaml:"delay"`
	Rate      rate     `yaml:"rate"`
	Mark      bool     `yaml:"mark"`  // congestion experienced, if ECN-capable
	CNP       bool     `yaml:"cnp"`   // to the packet's destination
	Pause     int      `yaml:"pause"` // PFC, to the packet's sender, in quanta of 512 bit times

	Jitter    duration `yaml:"jitter"`     // of Delay: up to so much more
	Queue     size     `yaml:"queue"`      // of Rate: bytes that wait; more are dropped
	Priority  int      `yaml:"priority"`   // of Pause
	AfterMark bool     `yaml:"after_mark"` // of CNP: only after a mark in the other direction

	action action
	line   int
}

// Load reads a rule file.
func Load(name string) (*Rules, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, text)
}

// Parse parses the text of a rule file. Its errors begin with the name and the line.
func Parse(name string, text []byte) (*Rules, error) {
	var file struct {
		Seed  uint64      `yaml:"seed"`
		Rules []yaml.Node `yaml:"rules"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, located(name, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one YAML document", name)
	}
	r := &Rules{Seed: file.Seed}
	for i := range file.Rules {
		rule, err := parseRule(&file.Rules[i])
		if err != nil {
			return nil, located(name, err)
		}
		if rule.Name == "" {
			rule.Name = fmt.Sprintf("rule %d: %v", i+1, rule.action)
		}
		r.Rules = append(r.Rules, rule)
	}
	return r, nil
}

// located puts the name of the file before an error, which has the line as yaml writes it.
func located(name string, err error) error {
	text := err.Error()
	var several *yaml.TypeError
	if errors.As(err, &several) && len(several.Errors) > 0 {
		text = several.Errors[0]
	}
	text = strings.TrimPrefix(text, "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		return fmt.Errorf("%s:%s", name, rest)
	}
	return fmt.Errorf("%s: %s", name, text)
}

// parseRule decodes and checks one rule. yaml.Node.Decode accepts unknown keys, so that they are
// looked for here.
func parseRule(node *yaml.Node) (r Rule, err error) {
	if node.Kind != yaml.MappingNode {
		return r, at(node, "a rule must be a mapping, such as \"lose: true\"")
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if key := node.Content[i]; !ruleKeys[key.Value] {
			return r, at(key, "%q is not a key of a rule", key.Value)
		}
	}
	if err := node.Decode(&r); err != nil {
		return r, err
	}
	if r.line = node.Line; r.From == "" {
		r.From = "both"
	}
	r.action, err = r.act(node)
	if err != nil {
		return r, err
	}
	return r, r.check(node)
}

// at returns an error at a node.
func at(node *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", node.Line, fmt.Sprintf(format, args...))
}

var ruleKeys = map[string]bool{"name": true, "from": true, "op": true, "qp": true, "psn": true,
	"probability": true, "every": true, "nth": true, "after": true, "for": true, "lose": true,
	"duplicate": true, "reorder": true, "corrupt": true, "delay": true, "rate": true, "mark": true,
	"cnp": true, "pause": true, "jitter": true, "queue": true, "priority": true,
	"after_mark": true}

// action is what a rule does.
type action uint8

const (
	lose action = iota
	duplicate
	reorder
	corrupt
	delay
	limitRate
	mark
	notify
	pause
	actions
)

var actionNames = [actions]string{"lose", "duplicate", "reorder", "corrupt", "delay", "rate",
	"mark", "cnp", "pause"}

func (a action) String() string { return actionNames[a] }

// act returns the action of a rule.
func (r *Rule) act(node *yaml.Node) (a action, err error) {
	n := 0
	for i, set := range [actions]bool{r.Lose, r.Duplicate != 0, r.Reorder != 0, r.Corrupt != 0,
		r.Delay != 0 || r.Jitter != 0, r.Rate != 0, r.Mark, r.CNP, r.Pause != 0} {
		if set {
			a = action(i)
			n++
		}
	}
	if n != 1 {
		return 0, at(node, "a rule must do one thing, and this one does %d: want one of %s", n,
			strings.Join(actionNames[:], ", "))
	}
	return a, nil
}

// Limits of the values of rules.
const (
	maxCopies  = 100
	maxOvertak = 10_000
	maxBits    = 1000
	maxQuanta  = 65535 // 802.1Qbb
	maxDelay   = duration(units.Second * 60)
)

// check checks the values of a rule.
func (r *Rule) check(node *yaml.Node) error {
	selectors := 0
	for _, set := range []bool{r.Probability != nil, r.Every != 0, len(r.Nth) > 0} {
		if set {
			selectors++
		}
	}
	switch {
	case r.From != "a" && r.From != "b" && r.From != "both":
		return at(node, "from is %q, want a, b or both", r.From)
	case selectors > 1:
		return at(node, "want at most one of probability, every and nth")
	case r.Every < 0:
		return at(node, "every is %d, want at least 1", r.Every)
	case r.Duplicate < 0 || r.Duplicate > maxCopies:
		return at(node, "duplicate is %d, want 1 to %d copies", r.Duplicate, maxCopies)
	case r.Reorder < 0 || r.Reorder > maxOvertak:
		return at(node, "reorder is %d, want 1 to %d packets", r.Reorder, maxOvertak)
	case r.Corrupt < 0 || r.Corrupt > maxBits:
		return at(node, "corrupt is %d, want 1 to %d bits", r.Corrupt, maxBits)
	case r.Pause < 0 || r.Pause > maxQuanta:
		return at(node, "pause is %d, want 1 to %d quanta", r.Pause, maxQuanta)
	case r.Priority < 0 || r.Priority > 7:
		return at(node, "priority is %d, want 0 to 7", r.Priority)
	case max(r.Delay, r.Jitter) > maxDelay:
		return at(node, "delay and jitter are at most %v", units.Duration(maxDelay))
	case r.Queue != 0 && r.action != limitRate:
		return at(node, "queue belongs to rate")
	case r.Priority != 0 && r.action != pause:
		return at(node, "priority belongs to pause")
	case r.AfterMark && r.action != notify:
		return at(node, "after_mark belongs to cnp")
	}
	return nil
}
