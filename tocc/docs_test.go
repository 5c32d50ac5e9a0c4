package tocc

import (
	"strings"
	"testing"

	"github.com/goroce/goroce/cc/cctest"
)

// TestDocument: the tables are those of the code.
func TestDocument(t *testing.T) {
	cctest.Document(t, "tocc.md", "tocc", "\n"+schemeTable()+"\n"+Table()+"\n")
}

// schemeTable is the presets.
func schemeTable() string {
	var b strings.Builder
	b.WriteString("| scheme | otherwise than below |\n|---|---|\n")
	for _, name := range Schemes() {
		what := "`" + presets[name].String() + "`"
		if len(presets[name]) == 0 {
			what = "nothing"
		}
		b.WriteString("| `" + name + "` | " + what + " |\n")
	}
	b.WriteString("| …`" + overAeolus + "` | and `" + aeolus.String() + "` |\n")
	return b.String()
}
