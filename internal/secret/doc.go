// Package secret generates the numbers that a peer must not predict: keys, PSNs, extension tags,
// queue pair numbers, connection IDs.
//
// Each purpose has its own [Stream]. Peers see some of these numbers. Numbers of one stream reveal
// nothing about another stream, nor, by ChaCha8, about later numbers of the same stream.
//
// It imports the standard library only.
package secret
