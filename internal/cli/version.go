package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Release is goroce's semantic version: the latest that CHANGELOG.md lists, or the one being
// prepared.
const Release = "0.1.0"

// Version returns the version of this binary: the release, the commit, the versions of libraries
// such as DPDK, and Go's.
func Version(libraries ...string) string {
	parts := append([]string{fmt.Sprintf("goroce %s (%s)", Release, Commit())}, libraries...)
	return strings.Join(append(parts, runtime.Version()), ", ")
}

// Commit returns the commit from which the binary was built.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision != "" {
		return revision[:min(12, len(revision))] + dirty
	}
	return cmp.Or(info.Main.Version, "unknown")
}
