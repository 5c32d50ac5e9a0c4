package report

import (
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"html/template"
	"os"
	"path/filepath"

	"github.com/goroce/goroce/sim/figure"
)

// Figure is a picture or a table on the page.
type Figure struct {
	Title string
	// Image returns the picture as a data URL. A file shown as an image can bring neither scripts
	// nor styles into the page, and its names cannot clash with another's.
	Image template.URL
	Table *figure.Table
}

// readFigures reads the figures of an experiment, by file name.
func readFigures(dir string) ([]Figure, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var out []Figure
	for _, file := range files {
		path := filepath.Join(dir, file.Name())
		ext := filepath.Ext(path)
		if ext != ".svg" && ext != ".csv" || file.Name() == "data.csv" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		if ext == ".svg" {
			out = append(out, picture(file.Name(), text))
			continue
		}
		t, err := figure.ParseTable(text)
		if err != nil {
			return nil, fmt.Errorf("report: %s: %w", path, err)
		}
		out = append(out, Figure{Title: t.Title, Table: t})
	}
	return out, nil
}

// picture returns an SVG as a figure with the title that is in it.
func picture(name string, svg []byte) Figure {
	doc := struct {
		Title string `xml:"title"`
	}{}
	if xml.Unmarshal(svg, &doc) != nil || doc.Title == "" {
		doc.Title = name
	}
	data := "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg)
	return Figure{Title: doc.Title, Image: template.URL(data)}
}
