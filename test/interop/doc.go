// Command interop tests goroce against foreign peers: Linux's soft-RoCE with perftest,
// ibv_rc_pingpong and rping in a virtual machine (scripts/interop).
//
// A cell (package matrix) is one test between two programs, one of ours and one of the peer's. A
// lab (lab.go) consists of the peer's guest (guest.go), the running programs (program.go) and the
// wire between them, which roce_impair can impair (wire.go). A trial (trial.go) starts the
// server, waits until it listens, starts the client and waits for both. Their outputs are then
// checked (judge.go), and so is congestion control in cells that test it (control.go). Beside the
// matrix there are misbehaving peers (hostile.go), a flow of ours that stops and probes its peer
// (probe.go, with program stopgo), and performance figures (figures.go).
//
// With -differential it compares responses instead: the same valid and invalid packets are sent to
// rxe and to goroce (differential.go, package differ).
//
// Everything runs in the network namespace of scripts/interop: the command boots the guests, runs
// itself again inside the namespace, and shuts everything down.
//
// The package imports the packages below it and units. It runs goroce's programs unmodified.
package main
