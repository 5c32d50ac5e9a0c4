package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/bytetuning/dialect"
	"github.com/goroce/goroce/bytetuning/intent"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/units"
)

func (p *program) checkCommand() *cobra.Command {
	var from string
	var chip chipFlags
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Find the three misconfigurations of the paper",
		Long: `check reads intents (YAML), or the configuration of a switch (JSON, or with
--dialect), and reports the three cases of ByteTuning's section 2.2: I, Kmax at
or above XOFF, so that PFC acts before ECN; II, enough senders to fill the
buffer before any of them is paused; III, a class without PFC that may use the
buffer. It lists missing information as "unknown". The exit code is 1 if there
are findings.`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, files []string) error { return p.check(from, chip, files) },
	}
	c.Flags().StringVar(&from, "dialect", "",
		"dialect of the files (default: intents, or sonic for JSON)")
	chip.register(c)
	return c
}

// chipFlags are the chip properties that a switch's configuration lacks.
type chipFlags struct {
	cell, buffer string
	ports        int
}

func (f *chipFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.cell, "cell", "",
		"cell size, for configurations in cells")
	c.Flags().StringVar(&f.buffer, "buffer", "",
		"shared buffer, if the configuration does not contain it")
	c.Flags().IntVar(&f.ports, "ports", 0, "number of ports with headroom in the buffer")
}

func (f *chipFlags) chip() (intent.Chip, error) {
	c := intent.Chip{Ports: f.ports}
	for text, into := range map[string]*units.Bytes{f.cell: &c.Cell, f.buffer: &c.Buffer} {
		if text == "" {
			continue
		}
		b, err := units.ParseBytes(text)
		if err != nil {
			return c, cli.Usage(err)
		}
		*into = b
	}
	return c, nil
}

// read reads intents, or a configuration in a dialect.
func read(file, from string, flags chipFlags) ([]*intent.Intent, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if from == "" && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		from = "sonic"
	}
	if from == "" {
		intents, err := intent.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return intents, nil
	}
	d, err := dialect.Lookup(from)
	if err != nil {
		return nil, cli.Usage(err)
	}
	chip, err := flags.chip()
	if err != nil {
		return nil, err
	}
	intents, err := d.Parse(text, chip)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return intents, nil
}

func (p *program) check(from string, chip chipFlags, files []string) error {
	found := 0
	for _, file := range files {
		intents, err := read(file, from, chip)
		if err != nil {
			return err
		}
		for _, i := range intents {
			findings, questions := intent.Lint(i)
			for _, f := range findings {
				fmt.Fprintf(p.out, "%s: %s\n", file, f)
			}
			for _, q := range questions {
				fmt.Fprintf(p.out, "%s: unknown: %s\n", file, q)
			}
			found += len(findings)
		}
	}
	if found > 0 {
		return fmt.Errorf("findings: %d", found)
	}
	fmt.Fprintln(p.out, "no findings")
	return nil
}
