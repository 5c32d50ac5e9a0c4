package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// campaign is an operation that must succeed every time. To add one, register it in the init
// function of its file.
type campaign struct {
	name  string
	about string // one line on what is tested

	rounds int // by default
	full   int // with -full

	run func(r *run) error // calls r.forEachRound
	// peer runs in the processes that r.startPeer starts; nil if there are none.
	peer func(in *orders, args []string) error
}

var campaigns []campaign

func register(c campaign) {
	campaigns = append(campaigns, c)
	slices.SortFunc(campaigns, func(a, b campaign) int { return strings.Compare(a.name, b.name) })
}

func findCampaign(name string) (campaign, error) {
	for _, c := range campaigns {
		if c.name == name {
			return c, nil
		}
	}
	return campaign{}, fmt.Errorf("unknown campaign %q", name)
}

// run is one execution of a campaign.
type run struct {
	campaign string
	rounds   int
	dir      string // for sockets; empty at the start

	peers []*peer
	note  string // result beside success

	// quiesce, if not nil, pauses what would distort measurements until the function that it
	// returns is called.
	quiesce func() (resume func())
}

// warmUpRounds is the number of rounds after which permanent allocations are done and pools have
// reached their working size.
const warmUpRounds = 50

// forEachRound calls round as often as the campaign requires. It returns an error if a round fails
// or if the processes have grown since the first rounds.
func (r *run) forEachRound(round func(i int) error) error {
	var start usage
	warm := min(warmUpRounds, r.rounds/2)
	lastReport := time.Now()
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
		if time.Since(lastReport) > time.Second {
			lastReport = time.Now()
			fmt.Println(progressPrefix, i+1)
		}
	}
	end, err := r.measure()
	if err != nil {
		return err
	}
	r.note = end.String()
	return start.checkGrowth(end)
}

// measure measures this process and its peers.
func (r *run) measure() (usage, error) {
	if r.quiesce != nil {
		defer r.quiesce()()
	}
	return measure(), r.measurePeers()
}

// measurePeers makes every running peer measure itself. From the second time on, a peer fails if it
// has grown since the first.
func (r *run) measurePeers() error {
	for _, p := range r.peers {
		if _, err := p.call(measureOrder); err != nil {
			return err
		}
	}
	return nil
}

// execute runs the campaign in this process and stops its peers.
func (c campaign) execute(rounds int) (note string, err error) {
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	r := &run{campaign: c.name, rounds: rounds, dir: dir}
	err = c.run(r)
	for _, p := range r.peers {
		if endErr := p.stop(); err == nil {
			err = endErr
		}
	}
	return r.note, err
}
