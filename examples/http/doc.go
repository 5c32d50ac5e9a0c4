// Package http shows net/http over goroce's streams: a server serves a listener of streams, and a
// client's Transport dials streams. Neither has to be changed. docs/http.md describes it.
package http
