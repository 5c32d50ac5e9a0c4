// Package kv is a key-value store whose GET is a one-sided RDMA READ: the server's program takes no
// part in it. A PUT is a WRITE with immediate data into memory that the server keeps for the
// connection, and a message as its reply. docs/kv.md describes the layout.
package kv
