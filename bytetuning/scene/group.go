package scene

import (
	"fmt"

	"github.com/goroce/goroce/bytetuning"
)

// Group is the grouping of switches in a search (section 5.4). Switches are numbered: the ToR
// switches, then the leaves; the last ToR switch is the receiver's.
type Group string

// The groupings. The larger the groups, the smaller the search.
const (
	All      Group = ""         // all switches share one watermark
	Layers   Group = "layers"   // one for the ToR switches, one for the leaves
	Switches Group = "switches" // one for each
	// one for each on the path of the traffic; the others stay as they are
	Path     Group = "path"
	Receiver Group = "receiver" // one, for the receiver's; the others stay as they are
)

var groupings = []Group{Layers, Switches, Path, Receiver}

// tuned is a group of switches that get one watermark.
type tuned struct {
	name     string
	switches []int
}

func (t *Target) groups() []tuned {
	var tors, leaves []int
	for i := range t.ToRs {
		tors = append(tors, i)
	}
	for i := range t.Leaves {
		leaves = append(leaves, t.ToRs+i)
	}
	receiver := t.ToRs - 1
	switch t.Group {
	case Layers:
		return []tuned{{"tor", tors}, {"leaf", leaves}}
	case Receiver:
		return []tuned{{fmt.Sprintf("tor%d", receiver), []int{receiver}}}
	case Switches, Path:
		var all []tuned
		for _, i := range tors {
			// senders are below each ToR switch in turn
			if t.Group == Switches || i < t.Senders || i == receiver {
				all = append(all, tuned{fmt.Sprintf("tor%d", i), []int{i}})
			}
		}
		for i, n := range leaves {
			all = append(all, tuned{fmt.Sprintf("leaf%d", i), []int{n}})
		}
		return all
	}
	return []tuned{{"all", append(tors, leaves...)}}
}

// ports returns the number of ports of a switch.
func (t *Target) ports(i int) int {
	if i < t.ToRs {
		return t.Hosts + t.Leaves
	}
	return t.ToRs
}

// watermarks returns the watermark of each switch. Those that are not tuned have the
// experience-based one.
func (t *Target) watermarks() []bytetuning.Watermark {
	all := make([]bytetuning.Watermark, t.ToRs+t.Leaves)
	asIs, err := bytetuning.Baseline("experience", t.Path())
	if err != nil {
		panic(err) // it exists
	}
	for i := range all {
		all[i] = asIs
	}
	for n, g := range t.groups() {
		for _, i := range g.switches {
			all[i] = t.now[n]
		}
	}
	return all
}
