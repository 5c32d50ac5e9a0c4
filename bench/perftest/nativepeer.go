package perftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/goroce/goroce/internal/connect"
)

// nativePeer is the dialogue between two goroce programs. They compare the settings that must
// match, synchronise at named barriers, report errors to each other, and join both ends'
// measurements.
type nativePeer struct{ x *session }

// Keys of the facts exchanged at barriers.
const (
	factError    = "error"
	factRow      = "row"
	factTotals   = "totals"
	factSent     = "sent"
	factCut      = "cut"
	factReceived = "received"
	factWork     = "work"
)

// peerError is an error that the peer reported.
type peerError string

func (e peerError) Error() string { return "the peer reports: " + string(e) }

func (k *nativePeer) trade(ctx context.Context, mine *connect.Hello) (*connect.Hello, error) {
	s := k.x.settings
	mine.Settings = s.mustMatch()
	theirs, err := connect.Exchange(ctx, k.x.conn, mine)
	if err != nil {
		return nil, err
	}
	if err := s.compare(theirs.Settings); err != nil {
		return nil, err
	}
	if len(theirs.QPs) != s.QPs || len(theirs.Regions) != s.QPs {
		return nil, fmt.Errorf("%w: %d queue pairs and %d regions, want %d of each",
			connect.ErrMalformed, len(theirs.QPs), len(theirs.Regions), s.QPs)
	}
	return theirs, nil
}

func (k *nativePeer) refuse(ctx context.Context, err error) error {
	return errors.Join(err, connect.Refuse(ctx, k.x.conn, err))
}

func (k *nativePeer) connected(ctx context.Context) error { return k.barrier(ctx, "connected") }

func (k *nativePeer) ready(ctx context.Context) error { return k.barrier(ctx, "ready") }

func (k *nativePeer) end(context.Context) error { return nil }

func (k *nativePeer) barrier(ctx context.Context, name string) error {
	_, err := k.meet(ctx, name, nil)
	return err
}

// meet waits for the peer at a named point of the test and exchanges facts.
func (k *nativePeer) meet(ctx context.Context, name string,
	facts map[string]string) (map[string]string, error) {
	theirs, err := connect.Barrier(ctx, k.x.conn, name, facts)
	if err != nil {
		return nil, k.x.lost(ctx, err)
	}
	if reported := theirs[factError]; reported != "" {
		return nil, peerError(reported)
	}
	return theirs, nil
}

func (k *nativePeer) sendError(ctx context.Context, where string, err error) error {
	if ctx.Err() != nil || errors.Is(err, ErrPeerGone) || errors.Is(err, ErrMismatch) ||
		errors.Is(err, connect.ErrRefused) {
		return err // the peer has it, or is gone
	}
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	_, _ = k.meet(ctx, where, map[string]string{factError: err.Error()})
	return err
}

// conclude exchanges the counts of sent messages, waits for their arrival, and exchanges results.
func (k *nativePeer) conclude(ctx context.Context, r *sizeRun) (*Row, error) {
	theirs, err := k.meet(ctx, "done", map[string]string{factSent: encode(r.sent()),
		factCut: encode(r.cutOff())})
	if err != nil {
		return nil, err
	}
	var sent []uint64
	if err := json.Unmarshal([]byte(theirs[factSent]), &sent); err != nil ||
		len(sent) != k.x.settings.QPs {
		return nil, k.sendError(ctx, "facts", fmt.Errorf("%w: counts of sent messages: %q",
			connect.ErrMalformed, theirs[factSent]))
	}
	var cut uint64
	if err := json.Unmarshal([]byte(theirs[factCut]), &cut); err != nil {
		return nil, k.sendError(ctx, "facts", fmt.Errorf("%w: count of messages cut off: %q",
			connect.ErrMalformed, theirs[factCut]))
	}
	if err := r.finish(sent, cut); err != nil {
		return nil, k.sendError(ctx, "facts", err)
	}
	row, totals := r.row(), r.totals()
	theirs, err = k.meet(ctx, "facts", map[string]string{
		factRow: encode(row), factTotals: encode(totals), factReceived: encode(r.received()),
		factWork: encode(r.worked()),
	})
	if err != nil {
		return nil, err
	}
	return r.combine(row, totals, theirs)
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // NaN or infinity: a bug
		panic(err)
	}
	return string(b)
}
