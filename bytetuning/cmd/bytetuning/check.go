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
		Short: "Look for the three misconfigurations of the paper",
		Long: `check reads intents (YAML), or with --dialect, or when it is JSON, a switch's configuration, and says where it is
one of the three cases of ByteTuning's section 2.2: I, Kmax at or above XOFF, so that PFC comes before ECN; II,
so many senders that the buffer is full before any of them is paused; III, a class without PFC that may
take the buffer. What it would have to know, it asks. It exits with 1 when it finds something.`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, files []string) error { return p.check(from, chip, files) },
	}
	c.Flags().StringVar(&from, "dialect", "",
		"of the files; by default intents, and SONiC where it is JSON")
	chip.register(c)
	return c
}

// chipFlags are what a switch's configuration does not say of its chip.
type chipFlags struct {
	cell, buffer string
	ports        int
}

func (f *chipFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.cell, "cell", "",
		"size of a cell, for configurations that count in cells")
	c.Flags().StringVar(&f.buffer, "buffer", "",
		"shared buffer, where the configuration does not say it")
	c.Flags().IntVar(&f.ports, "ports", 0, "ports with headroom in that buffer")
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
	d, err := dialect.Get(from)
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
	fmt.Fprintln(p.out, "nothing found")
	return nil
}
