package report

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goroce/goroce/sim/figure"
)

// Figure is a picture or a table on the page.
type Figure struct {
	Title string
	// File is the SVG's name. The page shows it as an image: such a file can bring neither scripts
	// nor styles into the page.
	File          string
	Width, Height int          // of the picture, in pixels; 0 if unknown
	Data          *figure.Data // of the picture; nil if the SVG has none
	Table         *figure.Table
}

// Name is the picture's name among those of its experiment.
func (f *Figure) Name() string { return strings.TrimSuffix(f.File, ".svg") }

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

// picture returns an SVG as a figure with the title and the data that are in it.
func picture(name string, svg []byte) Figure {
	doc := struct {
		Title  string `xml:"title"`
		Width  string `xml:"width,attr"`
		Height string `xml:"height,attr"`
	}{}
	if xml.Unmarshal(svg, &doc) != nil || doc.Title == "" {
		doc.Title = name
	}
	data, _ := figure.ParseData(svg) // without data the picture is shown as it is
	return Figure{Title: doc.Title, File: name, Width: pixels(doc.Width),
		Height: pixels(doc.Height), Data: data}
}

// pixels returns a length in points as pixels.
func pixels(length string) int {
	points, _ := strconv.ParseFloat(strings.TrimSuffix(length, "pt"), 64)
	return int(points * 4 / 3)
}
