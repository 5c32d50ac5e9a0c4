package perftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/goroce/goroce/internal/connect"
)

// kindred is the dialogue of two programs of ours. They compare all that must be equal, meet at
// named barriers, tell each other what goes wrong, and join what both have measured.
type kindred struct{ x *session }

// Facts that are traded where the two ends meet.
const (
	factError    = "error"
	factRow      = "row"
	factTotals   = "totals"
	factSent     = "sent"
	factReceived = "received"
	factWork     = "work"
)

// peerError is what the other end says went wrong there.
type peerError string

func (e peerError) Error() string { return "the peer reports: " + string(e) }

func (k *kindred) trade(ctx context.Context, mine *connect.Hello) (*connect.Hello, error) {
	s := k.x.settings
	mine.Settings = s.symmetric()
	theirs, err := connect.Exchange(ctx, k.x.conn, mine)
	if err != nil {
		return nil, err
	}
	if err := s.compare(theirs.Settings); err != nil {
		return nil, err
	}
	if len(theirs.QPs) != s.QPs || len(theirs.Regions) != s.QPs {
		return nil, fmt.Errorf("%w: it has %d queue pairs and %d regions, not %d",
			connect.ErrMalformed, len(theirs.QPs), len(theirs.Regions), s.QPs)
	}
	return theirs, nil
}

func (k *kindred) refuse(ctx context.Context, err error) error {
	return errors.Join(err, connect.Refuse(ctx, k.x.conn, err))
}

func (k *kindred) connected(ctx context.Context) error { return k.barrier(ctx, "connected") }

func (k *kindred) ready(ctx context.Context) error { return k.barrier(ctx, "ready") }

func (k *kindred) end(context.Context) error { return nil }

func (k *kindred) barrier(ctx context.Context, name string) error {
	_, err := k.meet(ctx, name, nil)
	return err
}

// meet waits for the peer at a point of the test, and trades facts.
func (k *kindred) meet(ctx context.Context, name string,
	facts map[string]string) (map[string]string, error) {
	theirs, err := connect.Barrier(ctx, k.x.conn, name, facts)
	if err != nil {
		return nil, k.x.lost(ctx, err)
	}
	if said := theirs[factError]; said != "" {
		return nil, peerError(said)
	}
	return theirs, nil
}

func (k *kindred) tell(ctx context.Context, where string, err error) error {
	if ctx.Err() != nil || errors.Is(err, ErrPeerGone) || errors.Is(err, ErrMismatch) ||
		errors.Is(err, connect.ErrRefused) {
		return err // it knows
	}
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	_, _ = k.meet(ctx, where, map[string]string{factError: err.Error()})
	return err
}

// conclude trades what was sent, looks at what arrived, and trades results.
func (k *kindred) conclude(ctx context.Context, r *round) (*Row, error) {
	theirs, err := k.meet(ctx, "done", map[string]string{factSent: encode(r.sent())})
	if err != nil {
		return nil, err
	}
	var sent []uint64
	if err := json.Unmarshal([]byte(theirs[factSent]), &sent); err != nil ||
		len(sent) != k.x.settings.QPs {
		return nil, k.tell(ctx, "facts", fmt.Errorf("%w: what it sent: %q", connect.ErrMalformed,
			theirs[factSent]))
	}
	if err := r.finish(sent); err != nil {
		return nil, k.tell(ctx, "facts", err)
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
	if err != nil { // numbers that JSON has not: a bug
		panic(err)
	}
	return string(b)
}
