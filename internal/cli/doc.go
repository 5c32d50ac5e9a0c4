// Package cli holds what programs with subcommands share: exit codes, usage errors, and
// interruption by signals. It imports cobra.
package cli
