// Package secret draws the numbers that a peer must not predict: keys, PSNs, extension tags, queue
// pair numbers, connection IDs.
//
// Each purpose has a [Stream] of its own. Peers are told some of these numbers; those of one stream
// say nothing about another's, and ChaCha8's say nothing about its next ones.
//
// It imports the standard library only.
package secret
