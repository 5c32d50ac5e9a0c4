// Package cli holds what the programs' command lines share. [Flag] and [Table] declare flags, from
// which everything else about them is derived. Programs with subcommands also share exit codes,
// usage errors, and interruption by signals. The package imports cobra and pflag.
package cli
