package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// campaign is something that must hold however often it is done. To add one, register it in the
// init function of its file.
type campaign struct {
	name  string
	about string // what holds, in a line

	rounds int // by default
	full   int // with -full

	run func(r *run) error // calls r.each
	// what the processes do that r.startPeer starts; nil if there are none
	peer func(in *orders, args []string) error
}

var campaigns []campaign

func register(c campaign) {
	campaigns = append(campaigns, c)
	slices.SortFunc(campaigns, func(a, b campaign) int { return strings.Compare(a.name, b.name) })
}

func campaignNamed(name string) (campaign, error) {
	for _, c := range campaigns {
		if c.name == name {
			return c, nil
		}
	}
	return campaign{}, fmt.Errorf("no campaign %q", name)
}

// run is a campaign at work.
type run struct {
	campaign string
	rounds   int
	dir      string // for sockets; empty at first

	peers []*peer
	note  string // what it found out, beside that it holds

	// still, if not nil, ends what would spoil measurements until the function that it returns is
	// called.
	still func() (resume func())
}

// Rounds after which a process has made what it keeps, and pools have their working size.
const warmUp = 50

// each does round as often as the campaign demands. It fails when a round does, and when the
// processes have grown since the first rounds.
func (r *run) each(round func(i int) error) error {
	var start usage
	warm := min(warmUp, r.rounds/2)
	told := time.Now()
	for i := range r.rounds {
		if i == warm {
			var err error
			if start, err = r.measure(); err != nil {
				return err
			}
		}
		if err := round(i); err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
		if time.Since(told) > time.Second {
			told = time.Now()
			fmt.Println(progressPrefix, i+1)
		}
	}
	end, err := r.measure()
	if err != nil {
		return err
	}
	r.note = end.String()
	return start.grown(end)
}

// measure measures this process and its peers.
func (r *run) measure() (usage, error) {
	if r.still != nil {
		defer r.still()()
	}
	return measure(), r.measurePeers()
}

// measurePeers makes every living peer measure itself; from the second time on, they fail when they
// have grown since the first.
func (r *run) measurePeers() error {
	for _, p := range r.peers {
		if _, err := p.do(measureOrder); err != nil {
			return err
		}
	}
	return nil
}

// conduct runs a campaign in this process, and ends its peers.
func (c campaign) conduct(rounds int) (note string, err error) {
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	r := &run{campaign: c.name, rounds: rounds, dir: dir}
	err = c.run(r)
	for _, p := range r.peers {
		if endErr := p.end(); err == nil {
			err = endErr
		}
	}
	return r.note, err
}
