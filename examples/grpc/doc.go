// Package grpc shows google.golang.org/grpc over goroce's streams: a server serves a listener of
// streams, and a client dials streams. Neither has to be changed. docs/grpc.md describes it.
//
// The service is written without a compiler for protocol buffers, of which it uses well-known types
// alone. A program has code that protoc made; nothing else differs.
package grpc
