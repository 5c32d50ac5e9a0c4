// Package check compares results with the catalogue and with the committed verdicts, and updates
// the verdicts.
//
// The package imports claims.
package check
