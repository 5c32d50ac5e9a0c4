package live

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/goroce/goroce/bytetuning"
	"github.com/goroce/goroce/units"
)

// Reading is what a switch says of a queue of an interface.
type Reading struct {
	At     units.Time // the switch's own time, since its epoch
	Octets uint64     // transmitted
	Length units.Bytes
}

// Reader reads queues by gNMI from OpenConfig's qos model.
type Reader struct {
	client   gpb.GNMIClient
	conn     *grpc.ClientConn
	metadata metadata.MD
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// NewReader connects to a switch's gNMI server, at the first Read.
func NewReader(g GNMI) (*Reader, error) {
	transport := insecure.NewCredentials()
	if !g.Insecure {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if g.CA != "" {
			pem, err := os.ReadFile(g.CA)
			if err != nil {
				return nil, err
			}
			config.RootCAs = x509.NewCertPool()
			if !config.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("live: %s: no certificate in it", g.CA)
			}
		}
		transport = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(g.Address, grpc.WithTransportCredentials(transport))
	if err != nil {
		return nil, fmt.Errorf("live: gnmi %s: %w", g.Address, err)
	}
	r := &Reader{client: gpb.NewGNMIClient(conn), conn: conn}
	if g.User != "" {
		r.metadata = metadata.Pairs("username", g.User, "password",
			os.Getenv("BYTETUNING_GNMI_PASSWORD"))
	}
	return r, nil
}

// Close ends the connection.
func (r *Reader) Close() error { return r.conn.Close() }

// outgoing adds who asks.
func (r *Reader) outgoing(ctx context.Context) context.Context {
	if r.metadata == nil {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, r.metadata)
}

// queuePath is OpenConfig's path of a queue's state.
func queuePath(iface, queue string) *gpb.Path {
	return &gpb.Path{Elem: []*gpb.PathElem{
		{Name: "qos"}, {Name: "interfaces"}, {Name: "interface",
			Key: map[string]string{"interface-id": iface}},
		{Name: "output"}, {Name: "queues"}, {Name: "queue", Key: map[string]string{"name": queue}},
		{Name: "state"},
	}}
}

// Read answers what the switch says of a queue now.
func (r *Reader) Read(ctx context.Context, iface, queue string) (Reading, error) {
	answer, err := r.client.Get(r.outgoing(ctx), &gpb.GetRequest{
		Path: []*gpb.Path{queuePath(iface, queue)}, Type: gpb.GetRequest_STATE,
		Encoding: gpb.Encoding_JSON_IETF,
	})
	if err != nil {
		return Reading{}, fmt.Errorf("live: gnmi: %s queue %s: %w", iface, queue, err)
	}
	reading, err := readNotifications(answer.GetNotification())
	if err != nil {
		return Reading{}, fmt.Errorf("live: gnmi: %s queue %s: %w", iface, queue, err)
	}
	return reading, nil
}

// readNotifications finds the leaves that we want, whether they come one by one or as a JSON
// container.
func readNotifications(notifications []*gpb.Notification) (Reading, error) {
	leaves := map[string]float64{}
	var at int64
	for _, n := range notifications {
		at = max(at, n.GetTimestamp())
		for _, u := range n.GetUpdate() {
			name := ""
			if e := u.GetPath().GetElem(); len(e) > 0 {
				name = e[len(e)-1].GetName()
			}
			if err := leaf(leaves, name, u.GetVal()); err != nil {
				return Reading{}, err
			}
		}
	}
	octets, counted := leaves["transmit-octets"]
	length, measured := leaves["avg-queue-len"]
	if !measured {
		length, measured = leaves["max-queue-len"]
	}
	if !counted || !measured {
		return Reading{},
			fmt.Errorf("no transmit-octets, or no avg-queue-len and no max-queue-len: %w",
				bytetuning.ErrTelemetry)
	}
	for _, v := range []float64{octets, length} {
		if math.IsNaN(v) || v < 0 || v >= 1<<63 {
			return Reading{}, fmt.Errorf("%v is no counter: %w", v, bytetuning.ErrTelemetry)
		}
	}
	if at <= 0 {
		return Reading{}, fmt.Errorf("time stamp %d: %w", at, bytetuning.ErrTelemetry)
	}
	// units.Time wraps after 106 days; differences of it do not mind.
	return Reading{At: units.Time(at * int64(units.Nanosecond)), Octets: uint64(octets),
		Length: units.Bytes(length)}, nil
}

// leaf takes in a value, or the numbers of a container.
func leaf(leaves map[string]float64, name string, v *gpb.TypedValue) error {
	switch x := v.GetValue().(type) {
	case *gpb.TypedValue_UintVal:
		leaves[name] = float64(x.UintVal)
	case *gpb.TypedValue_IntVal:
		leaves[name] = float64(x.IntVal)
	case *gpb.TypedValue_DoubleVal:
		leaves[name] = x.DoubleVal
	case *gpb.TypedValue_FloatVal:
		//lint:ignore SA1019 old servers send it
		leaves[name] = float64(x.FloatVal)
	case *gpb.TypedValue_StringVal:
		return number(leaves, name, x.StringVal)
	case *gpb.TypedValue_JsonIetfVal:
		return container(leaves, name, x.JsonIetfVal)
	case *gpb.TypedValue_JsonVal:
		return container(leaves, name, x.JsonVal)
	}
	return nil
}

// container is a JSON object of leaves, or one leaf. Numbers of 64 bits are strings in RFC 7951.
func container(leaves map[string]float64, name string, text []byte) error {
	var x any
	if err := json.Unmarshal(text, &x); err != nil {
		return errors.Join(err, bytetuning.ErrTelemetry)
	}
	object, ok := x.(map[string]any)
	if !ok {
		object = map[string]any{name: x}
	}
	for key, value := range object {
		key = key[strings.LastIndex(key, ":")+1:] // openconfig-qos:transmit-octets
		switch v := value.(type) {
		case float64:
			leaves[key] = v
		case string:
			if err := number(leaves, key, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// number takes a text that is one; others, such as the queue's name, are nothing of ours.
func number(leaves map[string]float64, name, text string) error {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		leaves[name] = v
	} else if name == "transmit-octets" || strings.HasSuffix(name, "-queue-len") {
		return fmt.Errorf("%s is %q: %w", name, text, bytetuning.ErrTelemetry)
	}
	return nil
}
