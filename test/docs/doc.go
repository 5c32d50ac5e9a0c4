// Package docs has the tests of what README.md, CONTRIBUTING.md and docs/ have the reader type.
//
// Each code block is fenced and has a language. A block of language sh without a mark is run by
// TestCommands: in a copy of the source with bin/ built, by bash, in a network namespace of its own
// where the machine permits one; every command must succeed. What the commands write to /tmp goes
// to a directory of the test, and -D takes one second. Marks, behind the language, are in marks.
// `make docs-commands` runs the blocks of minutes as well, with the durations that they name. Of
// the blocks that are not run, programs, flags, make's targets and paths must exist.
//
// It imports nothing of the module but DPDK's ports.
package docs
