// Command sbom writes a software bill of materials (CycloneDX 1.5, JSON) of Go programs, from the
// module versions that the linker recorded in them. It imports the versions of internal/cli.
//
//	go run ./site/sbom bin/lab bin/bytetuning
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/goroce/goroce/internal/cli"
)

// document is a CycloneDX document.
type document struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM...")
		os.Exit(cli.Misuse)
	}
	d, err := describe(os.Args[1:])
	if err == nil {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		err = e.Encode(d)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(cli.Failed)
	}
}

// describe returns the document of programs.
func describe(programs []string) (*document, error) {
	found := map[string]component{}
	for _, file := range programs {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found["go"] = component{Type: "framework", Name: "go", Version: info.GoVersion}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			found[m.Path] = component{Type: "library", Name: m.Path, Version: m.Version,
				PURL: "pkg:golang/" + m.Path + "@" + m.Version}
		}
	}
	d := &document{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{component{
		Type: "application", Name: "goroce", Version: cli.Release}}}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		d.Components = append(d.Components, found[name])
	}
	return d, nil
}
