// Package check tells whether committed results are complete and in order.
//
// The package imports claims.
package check
