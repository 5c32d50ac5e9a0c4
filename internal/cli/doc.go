// Package cli is what the bench's programs with subcommands have in common: exit codes, what is a
// wrong command line, and how they are interrupted. It imports cobra.
package cli
