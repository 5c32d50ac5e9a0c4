package tocc

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// preset is the parameters of a named scheme that differ from ToCC's.
type preset map[string]string

// presets are the rows of Table I, and ToCC without its unscheduled phase.
var presets = map[string]preset{
	"tocc":         {},
	"tocc-nounsch": {"unsch": "0B"},
	"expresspass": {"unsch": "0B", "generation": "rate", "volume": "off", "cc": "feedback",
		"k": "1pkt", "age": "0s"},
	"homa": {"limiter": "off", "pace": "off", "cc": "none", "k": "1pkt", "age": "0s",
		"realtime": "off", "overcommit": "7", "token_dscp": "56"},
	"ndp": {"limiter": "off", "cc": "none", "k": "1pkt", "age": "0s", "realtime": "off",
		"token_dscp": "56"},
}

// aeolus is what Aeolus changes in a scheme: everything is sent in the first round trip, and may be
// dropped.
var aeolus = preset{"unsch": "1BDP", "drop": "on"}

const overAeolus = "+aeolus"

// Schemes returns the names of the presets, sorted. Each except tocc-nounsch can be combined with
// +aeolus.
func Schemes() []string { return slices.Sorted(maps.Keys(presets)) }

// schemeOf returns the preset of a name, or of a short form that the paper's figures use.
func schemeOf(name string) (preset, error) {
	base, add := strings.CutSuffix(name, overAeolus)
	if base == "ep" {
		base = "expresspass"
	}
	p, ok := presets[base]
	switch {
	case name == "aeolus":
		return nil, fmt.Errorf("tocc: aeolus is an addition to a scheme: want expresspass%[1]s, "+
			"homa%[1]s or ndp%[1]s", overAeolus)
	case !ok:
		return nil, fmt.Errorf("tocc: unknown scheme %q, want one of %s, each optionally with %s",
			name, strings.Join(Schemes(), ", "), overAeolus)
	case add && base == "tocc-nounsch":
		return nil, fmt.Errorf(
			"tocc: %s: Aeolus needs unscheduled packets, which this scheme does not send", name)
	case !add:
		return p, nil
	}
	p = maps.Clone(p)
	maps.Copy(p, aeolus)
	return p, nil
}

// Help writes a description of each scheme and each parameter.
func Help(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range Schemes() {
		fmt.Fprintf(t, "%s\t%s\n", name, presets[name])
	}
	fmt.Fprintf(t, "…%s\t%s\n\n", overAeolus, aeolus)
	if err := t.Flush(); err != nil {
		return err
	}
	return settings(presets["tocc"]).Explain(w)
}

// String returns the parameters of a preset, sorted.
func (p preset) String() string {
	if len(p) == 0 {
		return "the defaults below"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		parts = append(parts, name+"="+p[name])
	}
	return strings.Join(parts, ",")
}
