package live

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// sampler is a gNMI server's subscriptions. Its own time advances by a second with each sample.
type sampler struct {
	answer func(iface, queue string, sample int) []*gpb.Update
	stuck  bool // the time does not advance
	// breaks is the number of streams that end with an error after three samples.
	breaks  int
	refusal error // of a subscription

	subscribed sync.Mutex
	requests   []*gpb.SubscribeRequest
	samples    map[string]int // by interface, over all streams
}

func (s *sampler) Subscribe(stream gpb.GNMI_SubscribeServer) error {
	r, err := stream.Recv()
	if err != nil {
		return err
	}
	s.subscribed.Lock()
	s.requests = append(s.requests, r)
	broken := len(s.requests) <= s.breaks
	s.subscribed.Unlock()
	if s.refusal != nil {
		return s.refusal
	}
	for n := 0; ; n++ {
		if broken && n == 3 {
			return status.Error(codes.Unavailable, "restarting")
		}
		for _, x := range r.GetSubscribe().GetSubscription() {
			if err := stream.Send(s.sample(x.GetPath())); err != nil {
				return err
			}
		}
		if n == 0 {
			if err := stream.Send(&gpb.SubscribeResponse{
				Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}}); err != nil {
				return err
			}
		}
		interval := r.GetSubscribe().GetSubscription()[0].GetSampleInterval() +
			r.GetSubscribe().GetSubscription()[0].GetHeartbeatInterval()
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(time.Duration(interval)):
		}
	}
}

func (s *sampler) sample(path *gpb.Path) *gpb.SubscribeResponse {
	s.subscribed.Lock()
	defer s.subscribed.Unlock()
	iface, queue := path.Elem[2].GetKey()["interface-id"], path.Elem[5].GetKey()["name"]
	if s.samples == nil {
		s.samples = map[string]int{}
	}
	k := s.samples[iface]
	s.samples[iface]++
	at := int64(1_900_000_000_000_000_000)
	if !s.stuck {
		at += int64(k) * 1e9
	}
	return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{
		Update: &gpb.Notification{Timestamp: at, Prefix: path,
			Update: s.answer(iface, queue, k)}}}
}

func leaves(values map[string]*gpb.TypedValue) (updates []*gpb.Update) {
	for name, v := range values {
		updates = append(updates,
			&gpb.Update{Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: name}}}, Val: v})
	}
	return updates
}

func whole(v uint64) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: v}}
}

// steady returns the leaves of a queue that passes 2 GB a second.
func steady(_, _ string, k int) []*gpb.Update {
	return leaves(map[string]*gpb.TypedValue{
		"transmit-octets": whole(uint64(k) * 2_000_000_000), "avg-queue-len": whole(1000),
	})
}

// TestMeasure covers separate leaves from one switch and a JSON container from the other.
func TestMeasure(t *testing.T) {
	b := newBox(t)
	n := network(t, b)
	b.answer = func(iface, queue string, k int) []*gpb.Update {
		if iface == "Ethernet0" {
			assert.Equal(t, "3", queue)
			return steady(iface, queue, k)
		}
		assert.Equal(t, "rdma", queue)
		text := fmt.Sprintf(`{"openconfig-qos:name": "rdma", `+
			`"openconfig-qos:transmit-octets": "%d", "openconfig-qos:max-queue-len": "4000"}`,
			uint64(k)*1_000_000_000)
		return []*gpb.Update{
			{Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(text)}}}}
	}
	m, err := n.Measure(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []bytetuning.Sample{
		{Throughput: 16 * units.Gbps, Queue: 1000},
		{Throughput: 8 * units.Gbps, Queue: 4000},
	}, m.Switches)
	sub := b.requests[0].GetSubscribe()
	assert.Equal(t, gpb.SubscriptionList_STREAM, sub.GetMode())
	assert.Equal(t, gpb.SubscriptionMode_SAMPLE, sub.GetSubscription()[0].GetMode())
	assert.EqualValues(t, 10*time.Millisecond, sub.GetSubscription()[0].GetSampleInterval())
}

func TestOnChange(t *testing.T) {
	b := newBox(t)
	n := network(t, b)
	n.Fleet.Switches = n.Fleet.Switches[:1]
	n.Fleet.Switches[0].GNMI.Mode = modeOnChange
	b.answer = steady
	_, err := n.Measure(t.Context())
	require.NoError(t, err)
	sub := b.requests[0].GetSubscribe().GetSubscription()[0]
	assert.Equal(t, gpb.SubscriptionMode_ON_CHANGE, sub.GetMode())
	assert.EqualValues(t, 10*time.Millisecond, sub.GetHeartbeatInterval())
}

// TestReconnect checks that a measurement continues over streams that break.
func TestReconnect(t *testing.T) {
	b := newBox(t)
	n := network(t, b)
	n.Fleet.Switches = n.Fleet.Switches[:1]
	n.Fleet.Period = 500 * units.Millisecond
	b.breaks = 2
	b.answer = steady
	m, err := n.Measure(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 16*units.Gbps, m.Switches[0].Throughput)
	assert.Len(t, b.requests, 3)
}

// TestRefused checks that a subscription that would be refused again is not repeated.
func TestRefused(t *testing.T) {
	b := newBox(t)
	n := network(t, b)
	n.Fleet.Period = units.Minute
	b.refusal = status.Error(codes.Unauthenticated, "who are you?")
	_, err := n.Measure(t.Context())
	assert.ErrorContains(t, err, "who are you?")
}

// TestLeavesInParts checks that leaves of one time that arrive apart are one reading.
func TestLeavesInParts(t *testing.T) {
	var got []Reading
	queues := map[string]*queueState{"eth0": {leaves: map[string]float64{}}}
	path := queuePath("eth0", "3")
	for at := range int64(3) {
		for name, v := range map[string]uint64{"transmit-octets": 100, "avg-queue-len": 7} {
			n := &gpb.Notification{Timestamp: at + 1, Prefix: path,
				Update: leaves(map[string]*gpb.TypedValue{name: whole(v + uint64(at))})}
			require.NoError(t, take(queues, n, func(_ string, r Reading) { got = append(got, r) }))
		}
	}
	assert.Equal(t, []Reading{{At: units.Time(units.Nanosecond), Octets: 100, Length: 7},
		{At: units.Time(2 * units.Nanosecond), Octets: 101, Length: 8}}, got)
}

func TestBadTelemetry(t *testing.T) {
	jsonVal := func(text string) []*gpb.Update {
		return []*gpb.Update{{Val: &gpb.TypedValue{
			Value: &gpb.TypedValue_JsonVal{JsonVal: []byte(text)}}}}
	}
	for want, answer := range map[string]func(k int) []*gpb.Update{
		"want transmit-octets": func(int) []*gpb.Update { return jsonVal("{}") },
		"counter NaN": func(int) []*gpb.Update {
			return leaves(map[string]*gpb.TypedValue{
				"transmit-octets": {Value: &gpb.TypedValue_DoubleVal{DoubleVal: math.NaN()}},
				"avg-queue-len":   whole(1),
			})
		},
		`transmit-octets is "many"`: func(int) []*gpb.Update {
			return jsonVal(`{"transmit-octets": "many"}`)
		},
		"unexpected end of JSON": func(int) []*gpb.Update { return jsonVal("{") },
		"byte counter went from": func(k int) []*gpb.Update {
			return leaves(map[string]*gpb.TypedValue{"transmit-octets": whole(1000 - uint64(k)),
				"avg-queue-len": whole(1)})
		},
		"0 updates with a new time stamp": func(int) []*gpb.Update { return nil },
	} {
		b := newBox(t)
		n := network(t, b)
		b.answer = func(_, _ string, k int) []*gpb.Update { return answer(k) }
		_, err := n.Measure(t.Context())
		assert.ErrorContains(t, err, want)
		assert.ErrorIs(t, err, bytetuning.ErrTelemetry, want)
	}
	b := newBox(t)
	n := network(t, b)
	b.answer, b.stuck = steady, true
	_, err := n.Measure(t.Context())
	assert.ErrorContains(t, err, "0 updates with a new time stamp in 100ms")
	n.Fleet.Switches[0].GNMI.Address = "127.0.0.1:1"
	n.readers = map[string]*Reader{}
	_, err = n.Measure(t.Context())
	assert.ErrorContains(t, err, "tor1: Ethernet0: 0 updates")
}

// TestMeasureCancelled checks that a measurement ends with its context.
func TestMeasureCancelled(t *testing.T) {
	b := newBox(t)
	n := network(t, b)
	n.Fleet.Period = units.Minute
	b.answer = steady
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := n.Measure(ctx)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func FuzzNotification(f *testing.F) {
	f.Add([]byte(`{"openconfig-qos:transmit-octets": "1", "avg-queue-len": 2}`), "state", int64(1))
	f.Add([]byte(`"7"`), "transmit-octets", int64(-1))
	f.Fuzz(func(t *testing.T, text []byte, name string, at int64) {
		queues := map[string]*queueState{"eth0": {leaves: map[string]float64{}}}
		for k := range int64(3) {
			n := &gpb.Notification{Timestamp: at + k, Prefix: queuePath("eth0", "3"),
				Update: []*gpb.Update{{
					Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: name}}},
					Val: &gpb.TypedValue{
						Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: text}},
				}}}
			err := take(queues, n, func(_ string, r Reading) {
				require.GreaterOrEqual(t, r.Length, units.Bytes(0))
			})
			if err != nil {
				require.ErrorIs(t, err, bytetuning.ErrTelemetry)
				return
			}
		}
	})
}
