// Package programs has tests of what all programs have in common: versions, help that fits the
// terminal, errors of command lines and their exit codes, completion and manual pages. They find
// the programs by go list, so that a new one is tested too. The package imports dpdk and the
// version of internal/cli.
package programs
