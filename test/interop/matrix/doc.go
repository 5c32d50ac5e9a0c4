// Package matrix says which cells an interoperability run has: what each tests, what both ends are
// told, which combinations exist (product.go), and which of them stand for all (cover.go). It is
// pure: nothing here runs anything. It imports units.
package matrix
