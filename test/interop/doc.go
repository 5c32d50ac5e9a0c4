// Command interop runs goroce against a peer that is not ours, and says what came of it: Linux's
// soft-RoCE with perftest, ibv_rc_pingpong and rping in a virtual machine (scripts/interop).
//
// A cell (package matrix) is one test between two programs, one of ours and one of the peer's. A
// lab (lab.go) is the peer's guest (guest.go), the programs that run (program.go) and the wire
// between them, which package shaper can impair (wire.go). A trial (trial.go) starts the server,
// waits until it listens, starts the client, waits for both, and has their outputs judged
// (judge.go), and what congestion control did, where the cell is about that (control.go). Beside
// the matrix there are peers that misbehave (hostile.go), a flow of ours that stops and probes its
// peer (probe.go, with program stopgo), and figures to compare with (figures.go).
//
// With -differential it compares answers instead: the same packets, good and bad, go to rxe and to
// goroce (differential.go, package differ).
//
// All of it runs in the network namespace of scripts/interop: the command boots the guests, runs
// itself again in there, and takes everything down.
//
// It imports the packages beside it and units; goroce's programs it runs as they are.
package main
