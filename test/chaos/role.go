package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/goroce/goroce/dpdk/eal"
	"github.com/goroce/goroce/internal/cli"
)

// role is the task of a process started by this program.
type role struct {
	Campaign string
	Rounds   int
	Peer     bool
	Args     []string
}

const roleEnv = "GOROCE_CHAOS_ROLE"

// Prefixes of the lines that a campaign's process prints on its standard output.
const (
	progressPrefix = "round"
	passPrefix     = "pass:"
	failPrefix     = "fail:"
)

// memory is the amount that EAL reserves, in MiB. Unused memory is never touched.
const memory = 512

// runRole runs the role given in the environment and exits; without a role it returns.
func runRole() {
	text, given := os.LookupEnv(roleEnv)
	if !given {
		return
	}
	os.Unsetenv(roleEnv)
	var r role
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		err = r.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(cli.Failed)
	}
	os.Exit(0)
}

func (r role) run() error {
	c, err := findCampaign(r.Campaign)
	if err != nil {
		return err
	}
	if err := eal.InitWith(eal.Config{NoHuge: true, Memory: memory}); err != nil {
		return err
	}
	if r.Peer {
		o := &orders{in: bufio.NewScanner(os.Stdin), out: os.Stdout}
		if err := c.peer(o, r.Args); err != nil {
			return fmt.Errorf("peer of %s: %w", c.name, err)
		}
		return o.err
	}
	note, err := c.execute(r.Rounds)
	if err != nil {
		fmt.Println(failPrefix, strings.ReplaceAll(err.Error(), "\n", "; "))
		return nil
	}
	fmt.Println(passPrefix, note)
	return nil
}
