package main

import (
	"fmt"
	"slices"
	"strings"
)

// kind is a class of plans and determines which faults may occur.
type kind struct {
	name   string
	weight int // relative frequency when every kind is drawn

	lossless   bool // PFC, with the smallest buffers that it allows
	verbErrors bool // requests that must fail, aborts, drained send queues, reused queue pairs
	loss       bool // links lose and corrupt frames
	reorder    bool // links duplicate, reorder and delay frames
	outages    bool // links go down, and NICs send PFC pauses without congestion
	crashes    bool // hosts stop; some start again
	overload   bool // buffers are too small for the traffic, timers too short for the network
}

var kinds = []kind{
	{name: "clean", weight: 14},
	{name: "pfc", weight: 10, lossless: true},
	{name: "verbs", weight: 16, verbErrors: true},
	{name: "lossy", weight: 16, loss: true},
	{name: "reorder", weight: 12, reorder: true},
	{name: "outage", weight: 8, outages: true},
	{name: "crash", weight: 8, crashes: true},
	{name: "overload", weight: 8, overload: true},
	{name: "chaos", weight: 8, verbErrors: true, loss: true, reorder: true, outages: true,
		crashes: true, overload: true},
}

// isFaultFree reports whether nothing is lost, late or refused in simulations of this kind.
func (k *kind) isFaultFree() bool {
	return !k.verbErrors && !k.loss && !k.reorder && !k.outages && !k.crashes && !k.overload
}

// recovery is how queue pairs recover lost packets.
type recovery int

const (
	recoverAny recovery = iota // drawn for each session
	recoverGoBackN
	recoverSelective
)

// mode restricts what seeds may draw. The zero value restricts nothing.
type mode struct {
	name     string
	kind     *kind
	recovery recovery
	tokens   bool // all sessions are reliable and have token admission
	credits  bool // all sessions are reliable and have credit admission
	hosts    bool // hosts have realistic timing, and sessions have algorithms of package cc
	hostile  bool // some hosts send forged packets
}

var recoveries = map[string]recovery{"gobackn": recoverGoBackN, "selective": recoverSelective}

// modeNamed returns the mode of a name: empty, "all", or a comma-separated list of kinds, recovery
// schemes, tocc, carc, hosts and hostile.
func modeNamed(name string) (mode, error) {
	if name == "" || name == "all" {
		return mode{}, nil
	}
	m := mode{name: name}
	for _, part := range strings.Split(name, ",") {
		if r, ok := recoveries[part]; ok {
			m.recovery = r
			continue
		}
		switch part {
		case "tocc":
			m.tokens, m.recovery = true, recoverSelective
			continue
		case "carc":
			m.credits = true
			continue
		case "hosts":
			m.hosts = true
			continue
		case "hostile":
			m.hostile = true
			continue
		}
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == part })
		if i < 0 {
			return mode{}, fmt.Errorf("soak: unknown mode %q, want one of %s", part,
				strings.Join(modeNames(), ", "))
		}
		m.kind = &kinds[i]
	}
	return m, nil
}

func modeNames() []string {
	names := []string{"all"}
	for i := range kinds {
		names = append(names, kinds[i].name)
	}
	return append(names, "gobackn", "selective", "tocc", "carc", "hosts", "hostile")
}

// draw returns the kind of a seed.
func (m *mode) draw(r rng) kind {
	if m.kind != nil {
		return *m.kind
	}
	sum := 0
	for i := range kinds {
		sum += kinds[i].weight
	}
	at := r.IntN(sum)
	for i := range kinds {
		if at -= kinds[i].weight; at < 0 {
			return kinds[i]
		}
	}
	panic("soak: the weights of the kinds do not add up")
}
