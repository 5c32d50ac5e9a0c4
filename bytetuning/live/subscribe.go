package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// Subscription modes of a fleet's gnmi: {mode}.
const (
	modeSample   = "sample"
	modeOnChange = "on_change"
)

// Waits before a broken subscription is made again. They double.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Subscribe streams the state of a queue of each interface until ctx ends, and then returns nil. It
// calls each with a Reading when all leaves of one time have arrived. A broken stream is made
// again; a refusal of the server is an error.
func (r *Reader) Subscribe(ctx context.Context, ifaces []string, queue string, poll units.Duration,
	each func(iface string, reading Reading)) error {
	retry := firstRetry
	for {
		streamed, err := r.stream(ctx, ifaces, queue, poll, each)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, bytetuning.ErrTelemetry) || refused(err) {
			return err
		}
		if streamed {
			retry = firstRetry
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retry):
		}
		retry = min(2*retry, lastRetry)
	}
}

// refused reports whether a request would fail again.
func refused(err error) bool {
	return slices.Contains([]codes.Code{codes.Unauthenticated, codes.PermissionDenied,
		codes.InvalidArgument, codes.NotFound, codes.Unimplemented}, status.Code(err))
}

// stream makes one subscription. It reports whether anything arrived before the error.
func (r *Reader) stream(ctx context.Context, ifaces []string, queue string, poll units.Duration,
	each func(string, Reading)) (streamed bool, err error) {
	stream, err := r.client.Subscribe(r.outgoing(ctx))
	if err == nil {
		err = stream.Send(r.request(ifaces, queue, poll))
	}
	queues := map[string]*queueState{}
	for _, iface := range ifaces {
		queues[iface] = &queueState{leaves: map[string]float64{}}
	}
	for err == nil {
		var m *gpb.SubscribeResponse
		if m, err = stream.Recv(); err == nil && m.GetUpdate() != nil {
			streamed = true
			err = take(queues, m.GetUpdate(), each)
		}
	}
	return streamed, fmt.Errorf("live: gnmi: queue %s: %w", queue, err)
}

// request returns the request for a stream of the queue of each interface.
func (r *Reader) request(ifaces []string, queue string, poll units.Duration) *gpb.SubscribeRequest {
	list := &gpb.SubscriptionList{Mode: gpb.SubscriptionList_STREAM,
		Encoding: gpb.Encoding_JSON_IETF}
	interval := uint64(poll / units.Nanosecond)
	for _, iface := range ifaces {
		s := &gpb.Subscription{Path: queuePath(iface, queue)}
		if r.mode == modeOnChange { // a value that stays the same is repeated by the heartbeat
			s.Mode, s.HeartbeatInterval = gpb.SubscriptionMode_ON_CHANGE, interval
		} else {
			s.Mode, s.SampleInterval = gpb.SubscriptionMode_SAMPLE, interval
		}
		list.Subscription = append(list.Subscription, s)
	}
	return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}
}

// queueState holds the newest leaves of a queue and their time. Leaves of one time may arrive in
// several notifications.
type queueState struct {
	leaves map[string]float64
	at     int64
}

// take stores a notification. The leaves of an earlier time are complete with it.
func take(queues map[string]*queueState, n *gpb.Notification, each func(string, Reading)) error {
	for _, u := range n.GetUpdate() {
		elems := slices.Concat(n.GetPrefix().GetElem(), u.GetPath().GetElem())
		iface, name := "", ""
		for _, e := range elems {
			if id := e.GetKey()["interface-id"]; id != "" {
				iface = id
			}
			name = e.GetName()
		}
		q := queues[iface]
		if q == nil {
			continue
		}
		if q.at != 0 && n.GetTimestamp() > q.at {
			reading, err := readingOf(q.leaves, q.at)
			if err != nil {
				return fmt.Errorf("%s: %w", iface, err)
			}
			each(iface, reading)
		}
		q.at = max(q.at, n.GetTimestamp())
		if err := leaf(q.leaves, name, u.GetVal()); err != nil {
			return fmt.Errorf("%s: %w", iface, err)
		}
	}
	return nil
}
