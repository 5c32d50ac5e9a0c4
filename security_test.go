package goroce

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSecurityNamesItsTests reports tests that docs/security.md names and the module does not have.
func TestSecurityNamesItsTests(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	require.NoError(t, err)
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`").FindAllStringSubmatch(string(page),
		-1)
	require.NotEmpty(t, named)

	exists := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(source, -1) {
			exists[string(m[1])] = true
		}
		return err
	}))
	for _, m := range named {
		assert.True(t, exists[m[1]], "%s is no test of the module", m[1])
	}
}
