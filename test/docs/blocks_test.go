package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// block is a fenced block of code.
type block struct {
	file     string
	line     int
	language string
	marks    []string
	text     string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// is reports whether the block has a mark.
func (b block) is(mark string) bool { return slices.Contains(b.marks, mark) }

var languages = []string{"sh", "go", "text", "yaml", "json", "csv", "mermaid"}

// marks are the reasons for not running a block in TestCommands. Another one is needs=PROGRAM, for
// a program that scripts/setup build does not install.
var marks = map[string]string{
	"minutes":     "takes minutes: make docs-commands runs it",
	"long":        "takes ten minutes or more",
	"vm":          "boots a virtual machine",
	"root":        "needs root, and a minute",
	"interface":   "needs a network interface, and mostly a machine at its other end",
	"placeholder": "has names that the reader replaces",
}

var (
	fence    = regexp.MustCompile("^( *)```(.*)$")
	listItem = regexp.MustCompile(`^([-*]|[0-9]+\.) `)
)

// parse returns the blocks of a page, or an error if one has no language or an unknown mark.
func parse(file, text string) (blocks []block, err error) {
	var open *block
	indent, inList, blank := "", false, true
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open != nil && m != nil && strings.TrimSpace(line) == "```":
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		case m != nil:
			if open, err = header(file, i+1, strings.Fields(m[2])); err != nil {
				return nil, err
			}
			indent = m[1]
		case blank && strings.HasPrefix(line, "    ") && !inList:
			return nil, fmt.Errorf("%s:%d: an indented block; want ``` and a language", file, i+1)
		case line != "" && line[0] != ' ':
			inList = listItem.MatchString(line)
		}
		blank = line == ""
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block does not end", open)
	}
	return blocks, nil
}

// header returns the block that a fence begins.
func header(file string, line int, info []string) (*block, error) {
	b := &block{file: file, line: line}
	if len(info) == 0 || !slices.Contains(languages, info[0]) {
		return nil, fmt.Errorf("%s: language %q, want one of %v", b, info, languages)
	}
	b.language, b.marks = info[0], info[1:]
	for _, m := range b.marks {
		if _, ok := marks[m]; !ok && !strings.HasPrefix(m, "needs=") || b.language != "sh" {
			return nil, fmt.Errorf("%s: mark %q on a block of %s", b, m, b.language)
		}
	}
	return b, nil
}

// commands returns the blocks of language sh of all pages, in order.
func commands(t *testing.T) (all []block) {
	files, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	files = append(files, root+"/README.md", root+"/CONTRIBUTING.md", root+"/CHANGELOG.md",
		root+"/SECURITY.md")
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		blocks, err := parse(strings.TrimPrefix(f, root+"/"), string(text))
		require.NoError(t, err)
		for _, b := range blocks {
			if b.language == "sh" {
				all = append(all, b)
			}
		}
	}
	require.Greater(t, len(all), 50)
	return all
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\n```sh\nls\n```\n":                        "ls\n",
		"- a\n\n  ```sh minutes\n  ls\n   -l\n  ```\n": "ls\n -l\n",
		"- a\n\n      further\n":                       "",
		"a\n\n    ls\n":                                "error",
		"```\nls\n```\n":                               "error",
		"```sh\nls\n":                                  "error",
		"```sh slow\nls\n```\n":                        "error",
		"```text minutes\nls\n```\n":                   "error",
	} {
		blocks, err := parse("x.md", text)
		if want == "error" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		got := ""
		for _, b := range blocks {
			got += b.text
		}
		require.Equal(t, want, got, text)
	}
}
