// Package daemon gives one engine to the processes that connect to a Unix socket.
//
// A socket is for the processes of this user, those of root, and optionally those of a group, or
// all. Each connection is a session of its own: the engine finds objects by handle in the session's
// tables, and memory by key in its protection domains. The session ends when its process does, even
// if another process has inherited the socket.
package daemon
