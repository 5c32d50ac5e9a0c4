// Package tidy tests the source itself: who imports whom, the width of lines, the length of
// functions and files, doc comments, and phrases that comments and documentation do not use.
//
// The rules of imports stand in docs/architecture.md; the others stand in this package, each
// with its list of exceptions and their reasons. The package has no code but tests.
package tidy
