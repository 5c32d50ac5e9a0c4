package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goroce/goroce/lab/runner"
	"github.com/goroce/goroce/sim/figure"
)

// Write writes the page, dir/index.html, and beside it what the page refers to, for each
// experiment: its pictures, data.csv, and figures.js with the data of the pictures. Files that are
// in the directory already stay.
func (p *Page) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for _, paper := range p.Papers {
		for _, e := range paper.Experiments {
			if err := e.write(runner.Path(dir, e.ID)); err != nil {
				return err
			}
		}
	}
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "index.html"), b.Bytes())
}

// write writes the files of an experiment.
func (v *Experiment) write(dir string) error {
	if v.dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var names []string
	if v.HasData {
		names = append(names, "data.csv")
	}
	data := map[string]*figure.Data{}
	for _, f := range v.Figures {
		if f.File == "" {
			continue
		}
		names = append(names, f.File)
		if f.Data != nil {
			data[f.Name()] = f.Data
		}
	}
	if filepath.Clean(v.dir) != filepath.Clean(dir) {
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(v.dir, name))
			if err != nil {
				return fmt.Errorf("report: %w", err)
			}
			if err := writeFile(filepath.Join(dir, name), text); err != nil {
				return err
			}
		}
	}
	if len(data) == 0 {
		return nil
	}
	text, err := json.Marshal(data) // escapes <, > and &
	if err != nil {
		return fmt.Errorf("report: %s: data of the figures: %w", v.ID, err)
	}
	return writeFile(filepath.Join(dir, "figures.js"), fmt.Appendf(nil, "labFigures(%q, %s);\n",
		v.ID, text))
}

func writeFile(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
