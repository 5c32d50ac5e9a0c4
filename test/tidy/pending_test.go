package tidy

import (
	"slices"
	"strings"
)

// pending are the rooms whose widths and phrases are not checked yet: packages, as in the table of
// docs/architecture.md, files, and pages of docs. An entry goes when its room is done.
var pending = []string{}

// isPending reports whether a package, a file or a page is in the list of those not checked yet.
func isPending(name string) bool {
	return slices.ContainsFunc(pending, func(p string) bool { return covers(p, name) })
}

// dirOf returns the directory of a slash-separated name, "." for the module's.
func dirOf(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return "."
}
