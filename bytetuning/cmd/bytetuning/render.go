package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goroce/goroce/bytetuning/dialect"
	"github.com/goroce/goroce/internal/cli"
)

func (p *program) renderCommand() *cobra.Command {
	var to, from, out, layer string
	var interfaces []string
	var chip chipFlags
	var undo bool
	var options dialect.Options
	c := &cobra.Command{
		Use:   "render --dialect DIALECT FILE",
		Short: "Say watermarks in the words of a switch",
		Long: `render writes the configuration of each layer of a file of intents: to the screen when there is one layer,
else into --out, a file for each. What it had to round, or could not say, it tells on standard error; what a switch
cannot do it refuses.

Dialects: ` + strings.Join(dialect.Names(), ", ") + `. --from reads another dialect in place of intents.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, files []string) error {
			d, err := dialect.Get(to)
			if err != nil {
				return cli.Usage(err)
			}
			intents, err := read(files[0], from, chip)
			if err != nil {
				return err
			}
			matched := 0
			for _, i := range intents {
				if layer != "" && i.Name != layer {
					continue
				}
				matched++
				if len(interfaces) > 0 {
					i.Interfaces = interfaces
				}
				if layer == "" && len(intents) > 1 && out == "" {
					return cli.Usage(errors.New("there are several layers: give --out or --layer"))
				}
				r, err := d.Render(i, options)
				if err != nil {
					return err
				}
				text := r.Config
				if undo {
					if text = r.Undo; text == "" {
						return fmt.Errorf("%s has no undo: save the configuration before", d.Title)
					}
				}
				for _, w := range r.Warnings {
					fmt.Fprintf(p.errs, "%s\n", w)
				}
				fmt.Fprintf(p.errs, "%s: in effect: %v\n", i.Name, r.Effective.Watermark)
				if out == "" {
					fmt.Fprint(p.out, text)
					continue
				}
				file := filepath.Join(out, i.Name+"."+d.Name)
				if err := os.MkdirAll(out, 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					return err
				}
				fmt.Fprintln(p.out, file)
			}
			if matched == 0 {
				return cli.Usage(fmt.Errorf("%s: no layer %q", files[0], layer))
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&to, "dialect", "", "of the switch")
	f.StringVar(&from, "from", "",
		"dialect of the file; by default intents, and SONiC where it is JSON")
	f.StringVar(&out, "out", "", "directory for a file for each layer")
	f.StringVar(&layer, "layer", "", "only this one")
	f.StringSliceVar(&interfaces, "interfaces", nil, "in place of those of the file")
	f.BoolVar(&undo, "undo", false, "what takes the configuration away again")
	f.BoolVar(&options.Unverified, "unverified", false, "also lines for which we know no source")
	chip.register(c)
	return c
}
