package http

import (
	"context"
	"net"
	"net/http"

	"github.com/goroce/goroce"
)

// NewTransport returns a Transport whose connections are streams of a host. The address in a URL is
// that of the server's handshake. Set Protocols for HTTP/2 without TLS.
func NewTransport(host *goroce.Host) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return host.DialStream(ctx, addr)
		},
	}
}
