package tocc

import (
	"strings"
	"testing"

	"github.com/goroce/goroce/cc/cctest"
)

// TestDocument checks that the tables in docs/tocc.md are up to date.
func TestDocument(t *testing.T) {
	cctest.Document(t, "tocc.md", "tocc", "\n"+schemeTable()+"\n"+Table()+"\n")
}

// schemeTable returns the presets as a Markdown table.
func schemeTable() string {
	var b strings.Builder
	b.WriteString("| scheme | differences from the defaults below |\n|---|---|\n")
	for _, name := range Schemes() {
		what := "`" + presets[name].String() + "`"
		if len(presets[name]) == 0 {
			what = "none"
		}
		b.WriteString("| `" + name + "` | " + what + " |\n")
	}
	b.WriteString("| …`" + overAeolus + "` | adds `" + aeolus.String() + "` |\n")
	return b.String()
}
