// Package steering lets several endpoints, each on a core of its own, share the receive queues of a
// device: each frame reaches the endpoint that owns its queue pair, whichever queue the device put
// it into. Endpoint i of n owns the queue pair numbers with the remainder i modulo n.
//
// It imports internal/neigh, packet and transport/wire.
package steering
