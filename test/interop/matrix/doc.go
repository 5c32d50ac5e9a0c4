// Package matrix defines the cells of an interoperability run: what each tests, the command lines
// of both ends, which combinations exist (product.go), and a covering subset (cover.go). It has no
// I/O. It imports units.
package matrix
