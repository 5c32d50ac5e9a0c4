package rpc

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/goroce/goroce"
)

// The ID of a call is the immediate data of its messages. A request or cancellation begins with
// these fields, big endian; the method's name and the body follow.
const (
	kindAt      = 0
	nameLenAt   = 1
	timeoutAt   = 2 // nanoseconds that are left, or noTimeout
	requestSize = 10

	// responseSize is the length of a response's Code. The body or the error's text follows.
	responseSize = 4
)

// Kinds of a client's message.
const (
	kindCall = 1 + iota
	kindCancel
)

const noTimeout = math.MaxUint64

const (
	// MaxMethod is the length of the longest name of a method.
	MaxMethod = 255
	// MaxBody is the length of the longest request and of the longest response.
	MaxBody = int(goroce.MaxMessage) - requestSize - MaxMethod
)

// request is a decoded message of a client. Name and body are parts of the message.
type request struct {
	kind       byte
	hasTimeout bool
	timeout    time.Duration
	name, body []byte
}

func appendRequest(b []byte, name string, timeout uint64, body []byte) []byte {
	b = append(b, kindCall, byte(len(name)))
	b = binary.BigEndian.AppendUint64(b, timeout)
	return append(append(b, name...), body...)
}

func appendCancel(b []byte) []byte {
	return binary.BigEndian.AppendUint64(append(b, kindCancel, 0), noTimeout)
}

func parseRequest(b []byte) (request, error) {
	if len(b) < requestSize {
		return request{}, fmt.Errorf("rpc: request of %d bytes, want %d or more", len(b),
			requestSize)
	}
	r := request{kind: b[kindAt]}
	if r.kind != kindCall && r.kind != kindCancel {
		return request{}, fmt.Errorf("rpc: request of kind %d, want %d or %d", r.kind, kindCall,
			kindCancel)
	}
	n := int(b[nameLenAt])
	if len(b) < requestSize+n {
		return request{}, fmt.Errorf("rpc: request of %d bytes, want %d or more for a name of %d",
			len(b), requestSize+n, n)
	}
	if ns := binary.BigEndian.Uint64(b[timeoutAt:]); ns != noTimeout {
		r.hasTimeout, r.timeout = true, time.Duration(min(ns, math.MaxInt64))
	}
	r.name, r.body = b[requestSize:requestSize+n], b[requestSize+n:]
	return r, nil
}

// timeoutUntil returns the time until a deadline, for a request.
func timeoutUntil(deadline time.Time, ok bool) uint64 {
	if !ok {
		return noTimeout
	}
	return uint64(max(time.Until(deadline), 0))
}

func appendResponse(b []byte, code Code, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(code)), body...)
}

func parseResponse(b []byte) (Code, []byte, error) {
	if len(b) < responseSize {
		return 0, nil, fmt.Errorf("rpc: response of %d bytes, want %d or more", len(b),
			responseSize)
	}
	return Code(binary.BigEndian.Uint32(b)), b[responseSize:], nil
}
