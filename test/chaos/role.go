package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/goroce/goroce/dpdk/eal"
)

// role is what a process that this program starts is to be.
type role struct {
	Campaign string
	Rounds   int
	Peer     bool
	Args     []string
}

const roleEnv = "GOROCE_CHAOS_ROLE"

// What a campaign's process prints on its standard output.
const (
	progressPrefix = "round"
	holdsPrefix    = "holds:"
	failsPrefix    = "fails:"
)

// memory is what EAL reserves, in MiB. Only what is used is touched.
const memory = 512

// play plays the role that the environment gives this process, if it gives one, and ends it.
func play() {
	text, given := os.LookupEnv(roleEnv)
	if !given {
		return
	}
	os.Unsetenv(roleEnv)
	var be role
	err := json.Unmarshal([]byte(text), &be)
	if err == nil {
		err = be.play()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
	os.Exit(0)
}

func (be role) play() error {
	c, err := campaignNamed(be.Campaign)
	if err != nil {
		return err
	}
	if err := eal.InitWith(eal.Config{NoHuge: true, Memory: memory}); err != nil {
		return err
	}
	if be.Peer {
		o := &orders{in: bufio.NewScanner(os.Stdin), out: os.Stdout}
		if err := c.peer(o, be.Args); err != nil {
			return fmt.Errorf("peer of %s: %w", c.name, err)
		}
		return o.err
	}
	note, err := c.conduct(be.Rounds)
	if err != nil {
		fmt.Println(failsPrefix, strings.ReplaceAll(err.Error(), "\n", "; "))
		return nil
	}
	fmt.Println(holdsPrefix, note)
	return nil
}
