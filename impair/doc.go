// Package impair forwards frames between two ports and impairs RoCEv2 packets by rules,
// reproducibly: it loses, duplicates, reorders, corrupts, delays and marks them, limits their rate,
// and adds congestion notifications and pauses. docs/impair.md describes the rules.
//
// Rules come from YAML (rules.go, values.go). A [Box] has a direction for each port (direction.go),
// which decides for each packet, in order, what each rule does to it (rule.go), and holds what
// leaves later (held.go). Every rule has a random number generator of its own in each direction:
// the same packets in the same order have the same fate, and one rule does not change what another
// one draws. Frames other than RoCEv2 pass unchanged. The package starts no goroutine and reads no
// clock.
package impair
