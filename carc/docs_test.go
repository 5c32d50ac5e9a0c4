package carc

import (
	"testing"

	"github.com/goroce/goroce/cc/cctest"
)

// TestDocument compares the table of the document with that of the code.
func TestDocument(t *testing.T) {
	cctest.Document(t, "carc.md", "carc", "\n"+Table()+"\n")
}
