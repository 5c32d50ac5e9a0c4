package main

import (
	"fmt"
	"slices"
	"strings"
)

// kind is a sort of seed: what may happen in its world.
type kind struct {
	name   string
	weight int // how often, when every kind is drawn

	lossless bool // switches pause who sends, with buffers as tight as they may be
	oddities bool // requests that must fail, aborts, drained queues, queue pairs used again
	loss     bool // links lose and corrupt
	disorder bool // links repeat, overtake and delay
	outages  bool // links go down, and NICs pause their switches without reason
	crashes  bool // hosts stop, and some start again
	overload bool // buffers too small for the traffic, timers too short for the network
}

var kinds = []kind{
	{name: "clean", weight: 14},
	{name: "pfc", weight: 10, lossless: true},
	{name: "verbs", weight: 16, oddities: true},
	{name: "lossy", weight: 16, loss: true},
	{name: "reorder", weight: 12, disorder: true},
	{name: "outage", weight: 8, outages: true},
	{name: "crash", weight: 8, crashes: true},
	{name: "overload", weight: 8, overload: true},
	{name: "chaos", weight: 8, oddities: true, loss: true, disorder: true, outages: true,
		crashes: true, overload: true},
}

// quiet says that nothing may be lost, late or refused in a world of this kind.
func (k *kind) quiet() bool {
	return !k.oddities && !k.loss && !k.disorder && !k.outages && !k.crashes && !k.overload
}

// recovery is how queue pairs repair losses.
type recovery int

const (
	recoverAny recovery = iota // drawn for each session
	recoverGoBackN
	recoverSelective
)

// mode restricts what seeds are drawn from. The zero value takes everything.
type mode struct {
	name     string
	kind     *kind
	recovery recovery
	tokens   bool // sessions are all reliable, and their senders wait for tokens
	credits  bool // likewise, for credits
	hosts    bool // hosts are as real ones, and sessions have algorithms of package cc
	hostile  bool // some hosts send what they should not
}

var recoveries = map[string]recovery{"gobackn": recoverGoBackN, "selective": recoverSelective}

// modeNamed finds a mode: nothing or "all", a kind, a way of recovery, tocc, carc, hosts or
// hostile, or several with commas between.
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
			return mode{}, fmt.Errorf("soak: mode %q is none of %s", part,
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

// draw chooses the kind of a seed.
func (m *mode) draw(d dice) kind {
	if m.kind != nil {
		return *m.kind
	}
	sum := 0
	for i := range kinds {
		sum += kinds[i].weight
	}
	at := d.IntN(sum)
	for i := range kinds {
		if at -= kinds[i].weight; at < 0 {
			return kinds[i]
		}
	}
	panic("soak: the weights of the kinds do not add up")
}
