// Package lockstep exchanges messages of known sizes over a connection, as the handshakes of
// perftest and of libibverbs' examples do: each message is read with a single read, so each is a
// single write, and a side that has written waits for the other's message.
//
// The package imports nothing of this module.
package lockstep
