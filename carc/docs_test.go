package carc

import (
	"testing"

	"github.com/goroce/goroce/cc/cctest"
)

// TestDocument: the table is that of the code.
func TestDocument(t *testing.T) {
	cctest.Document(t, "carc.md", "carc", "\n"+Table()+"\n")
}
