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
		Short: "Translate watermarks into switch configuration",
		Long: `render writes the configuration of each layer of a file of intents: to standard
output for a single layer, otherwise to one file per layer in --out. Rounded
values and parameters that the dialect cannot express are reported on standard
error. Values that the switch does not support are errors.

Dialects: ` + strings.Join(dialect.Names(), ", ") + `.
--from reads another dialect instead of intents.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, files []string) error {
			if to == "" {
				return cli.Usage(fmt.Errorf("render: want --dialect, one of %s",
					strings.Join(dialect.Names(), ", ")))
			}
			d, err := dialect.Lookup(to)
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
					return cli.Usage(errors.New("several layers: want --out or --layer"))
				}
				r, err := d.Render(i, options)
				if err != nil {
					return err
				}
				text := r.Config
				if undo {
					if text = r.Undo; text == "" {
						return fmt.Errorf("%s has no undo: save the configuration first", d.Title)
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
	f.StringVar(&to, "dialect", "", "dialect of the switch")
	f.StringVar(&from, "from", "",
		"dialect of the file (default: intents, or sonic for JSON)")
	f.StringVar(&out, "out", "", "directory for one file per layer")
	f.StringVar(&layer, "layer", "", "render only this layer")
	f.StringSliceVar(&interfaces, "interfaces", nil, "interfaces, instead of those of the file")
	f.BoolVar(&undo, "undo", false, "write the lines that remove the configuration")
	f.BoolVar(&options.Unverified, "unverified", false, "include lines without a known source")
	chip.register(c)
	return c
}
