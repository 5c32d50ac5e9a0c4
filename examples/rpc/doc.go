// Package rpc is request and response over messages: many calls in flight on a connection, with
// deadlines that the server's handlers have too. docs/rpc.md describes the messages.
//
//   - A [Server] runs a [Handler] for each call.
//   - A [Client] is one connection. It ends with its server.
//   - A [Redialer] replaces a connection that ended, and repeats the calls that were not sent.
//   - A [Pool] has a Redialer for each of the host's cores.
package rpc
