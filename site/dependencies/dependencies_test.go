package dependencies

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the table of docs/dependencies.md")

const (
	root  = "../.."
	page  = root + "/docs/dependencies.md"
	begin = "<!-- modules: made by a test; reasons are kept -->\n"
	end   = "<!-- end of modules -->\n"
)

// row is a dependency in the table.
type row struct{ name, licence, why string }

func (r row) String() string {
	return fmt.Sprintf("| `%s` | %s | %s |\n", r.name, r.licence, r.why)
}

var (
	requirement = regexp.MustCompile(`(?m)^\t(\S+) v\S+( // indirect)?$`)
	tableRow    = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]*) \\| ([^|]*) \\|$")
)

// Every module that go.mod requires directly, and every package of the site, is in
// docs/dependencies.md with its licence and a reason. Indirect ones are as of the last -update.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, ok2 := strings.Cut(rest, end)
	require.True(t, ok && ok2, "%s has no table", page)
	listed := map[string]row{}
	for _, m := range tableRow.FindAllStringSubmatch(table, -1) {
		listed[m[1]] = row{m[1], m[2], m[3]}
	}
	rows := slices.Concat(modules(t), packages(t))
	for name := range listed {
		known := slices.ContainsFunc(rows, func(r row) bool { return r.name == name })
		require.True(t, known || *update, "%s: a row for %s, which nothing requires", page, name)
	}
	made := "| dependency | licence | why |\n|---|---|---|\n"
	for _, r := range rows {
		is, direct := listed[r.name], r.why == ""
		if direct {
			r.why = is.why
		}
		made += r.String()
		if direct && !*update {
			require.NotEmpty(t, is.why, "%s: want a row in %s with the reason", r.name, page)
			require.Equal(t, r.licence, is.licence, "%s: -update corrects %s", r.name, page)
		}
	}
	if *update {
		whole := before + begin + made + end + after
		require.NoError(t, os.WriteFile(page, []byte(whole), 0o644))
	}
}

// modules returns the modules of go.mod. An indirect one has its reason already: another needs it.
func modules(t *testing.T) (rows []row) {
	text, err := os.ReadFile(root + "/go.mod")
	require.NoError(t, err)
	paths := map[string]string{}
	for _, m := range requirement.FindAllStringSubmatch(string(text), -1) {
		paths[m[1]] = ""
		if m[2] != "" {
			paths[m[1]] = "indirect: another module needs it"
		}
	}
	args := append([]string{"list", "-m", "-f", "{{.Path}}\t{{.Dir}}"},
		slices.Sorted(maps.Keys(paths))...)
	list := exec.Command("go", args...)
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	for l := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(l), "\t")
		require.NotEmpty(t, dir, "%s is not downloaded: go mod download", path)
		rows = append(rows, row{path, licence(t, dir), paths[path]})
	}
	return rows
}

// phrases identify licences by their text.
var phrases = []struct{ phrase, licence string }{
	{"Apache License", "Apache-2.0"},
	{"Creative Commons Attribution", "CC-BY-4.0"},
	{"Mozilla Public License", "MPL-2.0"},

	{"Use of the Freetype-Go software", "FTL or GPL-2.0"},
	{"Permission is hereby granted, free of charge", "MIT"},
	{"Neither the name", "BSD-3-Clause"},
	{"names of its contributors may", "BSD-3-Clause"},
	{"Redistribution and use in source and binary forms", "BSD-2-Clause"},
}

// licence returns the licence of a module by the text of its file.
func licence(t *testing.T, dir string) string {
	for _, pattern := range []string{"LICENSE", "LICENSE.*", "COPYING*", "LICENCE*"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			flat := strings.Join(strings.Fields(string(text)), " ")
			for _, p := range phrases {
				if strings.Contains(flat, p.phrase) {
					return p.licence
				}
			}
		}
	}
	t.Fatalf("%s: no known licence", dir)
	return ""
}

// packages returns the direct dependencies of the site's generator, from npm's lock file.
func packages(t *testing.T) (rows []row) {
	text, err := os.ReadFile(root + "/site/package-lock.json")
	require.NoError(t, err)
	var lock struct {
		Packages map[string]struct {
			License         string            `json:"license"`
			DevDependencies map[string]string `json:"devDependencies"`
		} `json:"packages"`
	}
	require.NoError(t, json.Unmarshal(text, &lock))
	for _, name := range slices.Sorted(maps.Keys(lock.Packages[""].DevDependencies)) {
		rows = append(rows, row{name: "npm: " + name,
			licence: lock.Packages["node_modules/"+name].License})
	}
	return rows
}
