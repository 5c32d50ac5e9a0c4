package tocc

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// preset is a named point: what it has otherwise than ToCC.
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

// aeolus is what Aeolus adds to a scheme: everything leaves in the first round trip, and may be
// dropped.
var aeolus = preset{"unsch": "1BDP", "drop": "on"}

const overAeolus = "+aeolus"

// Schemes answers the names of the presets, in order. Each but tocc-nounsch also goes with +aeolus.
func Schemes() []string { return slices.Sorted(maps.Keys(presets)) }

// schemeOf answers what a name stands for: the short forms that the paper's figures use, too.
func schemeOf(name string) (preset, error) {
	base, add := strings.CutSuffix(name, overAeolus)
	if base == "ep" {
		base = "expresspass"
	}
	p, ok := presets[base]
	switch {
	case name == "aeolus":
		return nil, fmt.Errorf("tocc: aeolus is added to a scheme: say expresspass%[1]s, "+
			"homa%[1]s or ndp%[1]s", overAeolus)
	case !ok:
		return nil, fmt.Errorf("tocc: there is no scheme %q; there are %s, and each with %s", name,
			strings.Join(Schemes(), ", "), overAeolus)
	case add && base == "tocc-nounsch":
		return nil, fmt.Errorf("tocc: %s: Aeolus is about unscheduled packets, and there are none",
			name)
	case !add:
		return p, nil
	}
	p = maps.Clone(p)
	maps.Copy(p, aeolus)
	return p, nil
}

// Help writes what each scheme and each parameter is.
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

// String answers the settings of a preset, in order.
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
