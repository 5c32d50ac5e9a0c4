package claims

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
)

//go:embed behaviour.yaml
var behaviourFile []byte

const behaviourHeader = `# What the code of each experiment computes at small scale with seed 1: a
# digest of the records. A result of full scale keeps the digest of its code; with another digest
# here, or another set-up, it is stale. Tests compare this file with the code, and bin/lab check
# --update writes it from results of small scale. Experiments whose values depend on the machine are
# not here.
`

// readBehaviour sets the digests of experiments from the content of a behaviour.yaml.
func (c *Catalogue) readBehaviour(text []byte) error {
	var digests map[string]string
	if err := yaml.Unmarshal(text, &digests); err != nil {
		return fmt.Errorf("claims: behaviour: %w", err)
	}
	for _, e := range c.Experiments {
		e.Behaviour = digests[e.ID]
		delete(digests, e.ID)
	}
	for id := range digests {
		return fmt.Errorf("claims: behaviour: the catalogue has no experiment %s", id)
	}
	return nil
}

// ReadBehaviour sets the digests of experiments from a file, if it is there.
func (c *Catalogue) ReadBehaviour(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("claims: behaviour: %w", err)
	}
	return c.readBehaviour(text)
}

// WriteBehaviour writes the digests of experiments to a file.
func (c *Catalogue) WriteBehaviour(path string) error {
	var b bytes.Buffer
	b.WriteString(behaviourHeader)
	for _, e := range c.Experiments {
		if e.Behaviour != "" {
			fmt.Fprintf(&b, "%s: %q\n", e.ID, e.Behaviour)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("claims: behaviour: %w", err)
	}
	return nil
}

// UpdateBehaviour sets the digest of an experiment to that of a result at small scale with the
// first seeds, and returns the change as text, or "".
func UpdateBehaviour(e *Experiment, r *Result) string {
	if !e.behavesDifferently(r) {
		return ""
	}
	old := e.Behaviour
	e.Behaviour = r.Behaviour
	return fmt.Sprintf("%s behaves differently: %s, was %q; results of full scale are stale", e.ID,
		e.Behaviour, old)
}

// BehavesDifferently returns what differs between a run at small scale and the committed digest, or
// "".
func BehavesDifferently(e *Experiment, r *Result) string {
	if !e.behavesDifferently(r) {
		return ""
	}
	return fmt.Sprintf("%s computes something else than before: the digest of its records is %s, "+
		"want %q; if that is on purpose, bin/lab check --update with results of small scale "+
		"writes it to lab/claims/behaviour.yaml, and results of full scale are stale", e.ID,
		r.Behaviour, e.Behaviour)
}

// behavesDifferently reports whether the digest of a result that has one, of small scale and the
// first seeds, is not the committed one.
func (e *Experiment) behavesDifferently(r *Result) bool {
	return r.Scale == SmallScale && slices.Contains(r.Seeds, 1) && r.Behaviour != "" &&
		!e.onMachine() && r.Behaviour != e.Behaviour
}

// Stale returns why a result of full scale is not what this code would compute, or "". The setup is
// the digest of the set-up that the code has now.
func Stale(e *Experiment, r *Result, setup string) string {
	switch {
	case r.Scale != FullScale:
		return ""
	case r.Setup == "":
		return "made before results had digests"
	case r.Setup != setup:
		return "the set-up has changed"
	case r.Behaviour != e.Behaviour:
		return "the code computes something else at small scale"
	}
	return ""
}

// onMachine reports whether the value of a claim depends on the machine.
func (e *Experiment) onMachine() bool {
	return slices.ContainsFunc(e.Claims, func(c Claim) bool {
		return c.verdicts != nil && (c.verdicts.Full.isMachine() || c.verdicts.Small.isMachine())
	})
}
