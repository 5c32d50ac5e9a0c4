package claims

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Scale is the scale of a run.
type Scale string

// The scales.
const (
	FullScale  Scale = "full"  // as in the paper
	SmallScale Scale = "small" // at most a minute on two cores
)

// Result is the outcome of a run: the content of a claims.json.
type Result struct {
	Experiment string   `json:"experiment"` // id
	Scale      Scale    `json:"scale"`
	Seeds      []uint64 `json:"seeds"`
	Commit     string   `json:"commit"` // of the code that ran
	// Setup is the digest of cells, parameters and seeds; Behaviour that of what the code computes
	// at small scale. A full-scale result is stale if one of them has changed since: see Stale.
	Setup     string    `json:"setup,omitempty"`
	Behaviour string    `json:"behaviour,omitempty"`
	Command   string    `json:"command,omitempty"` // that runs it again
	Seconds   float64   `json:"seconds,omitempty"` // of a core, that it took
	Claims    []Verdict `json:"claims"`            // every claim of the experiment, in its order
}

// Verdict is the outcome of a run for a claim.
type Verdict struct {
	ID    string `json:"id"`
	Value Value  `json:"value"`
	Pass  *bool  `json:"pass"` // nil: not judged, for the reason in Note
	Note  string `json:"note"` // a comment on the value; never empty when Pass is nil
	// Exchange is set if the claim holds and compares schemes whose results can be exchanged.
	Exchange *Exchange `json:"exchange,omitempty"`
	// BySeed are the outcomes of the seeds alone, in their order, unless all have the same.
	BySeed []SeedVerdict `json:"by_seed,omitempty"`
}

// ReadResult reads a claims.json.
func ReadResult(path string) (*Result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("claims: result: %w", err)
	}
	r, err := DecodeResult(text)
	if err != nil {
		return nil, fmt.Errorf("claims: result %s: %w", path, err)
	}
	return r, nil
}

// DecodeResult decodes the content of a claims.json. An unknown field is an error; Check compares
// the claims with those of the experiment.
func DecodeResult(text []byte) (*Result, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	r := &Result{}
	if err := d.Decode(r); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the object")
	}
	switch {
	case r.Experiment == "":
		return nil, errors.New("the name of the experiment is missing")
	case r.Scale != FullScale && r.Scale != SmallScale:
		return nil, fmt.Errorf("scale %q: want %s or %s", r.Scale, FullScale, SmallScale)
	}
	return r, nil
}

// Write writes r to a file and replaces the old one.
func (r *Result) Write(path string) error {
	out := *r
	if out.Seeds == nil {
		out.Seeds = []uint64{}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // a note may contain >=
	e.SetIndent("", "  ")
	err := e.Encode(&out)
	if err == nil {
		err = os.WriteFile(path, text.Bytes(), 0o644)
	}
	if err != nil {
		return fmt.Errorf("claims: result of %s: %w", r.Experiment, err)
	}
	return nil
}
