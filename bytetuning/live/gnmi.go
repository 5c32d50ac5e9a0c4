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

// Reading is the state of a queue of an interface.
type Reading struct {
	At     units.Time // the switch's own time, since its epoch
	Octets uint64     // transmitted
	Length units.Bytes
}

// Reader reads queues over gNMI from OpenConfig's qos model.
type Reader struct {
	client   gpb.GNMIClient
	conn     *grpc.ClientConn
	metadata metadata.MD
	mode     string
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// NewReader returns a Reader of a switch's gNMI server. It connects at the first request.
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
				return nil, fmt.Errorf("live: %s: want a PEM certificate", g.CA)
			}
		}
		transport = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(g.Address, grpc.WithTransportCredentials(transport))
	if err != nil {
		return nil, fmt.Errorf("live: gnmi %s: %w", g.Address, err)
	}
	r := &Reader{client: gpb.NewGNMIClient(conn), conn: conn, mode: g.Mode}
	if g.User != "" {
		r.metadata = metadata.Pairs("username", g.User, "password",
			os.Getenv("BYTETUNING_GNMI_PASSWORD"))
	}
	return r, nil
}

// Close closes the connection.
func (r *Reader) Close() error { return r.conn.Close() }

// outgoing adds the credentials to a request's context.
func (r *Reader) outgoing(ctx context.Context) context.Context {
	if r.metadata == nil {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, r.metadata)
}

// queuePath returns OpenConfig's path of a queue's state.
func queuePath(iface, queue string) *gpb.Path {
	return &gpb.Path{Elem: []*gpb.PathElem{
		{Name: "qos"}, {Name: "interfaces"}, {Name: "interface",
			Key: map[string]string{"interface-id": iface}},
		{Name: "output"}, {Name: "queues"}, {Name: "queue", Key: map[string]string{"name": queue}},
		{Name: "state"},
	}}
}

// readingOf returns the Reading of a queue's leaves at a time in nanoseconds.
func readingOf(leaves map[string]float64, at int64) (Reading, error) {
	octets, counted := leaves["transmit-octets"]
	length, measured := leaves["avg-queue-len"]
	if !measured {
		length, measured = leaves["max-queue-len"]
	}
	if !counted || !measured {
		return Reading{},
			fmt.Errorf("want transmit-octets, and avg-queue-len or max-queue-len: %w",
				bytetuning.ErrTelemetry)
	}
	for _, v := range []float64{octets, length} {
		if math.IsNaN(v) || v < 0 || v >= 1<<63 {
			return Reading{}, fmt.Errorf("counter %v: want 0 to 2^63: %w", v,
				bytetuning.ErrTelemetry)
		}
	}
	if at <= 0 {
		return Reading{}, fmt.Errorf("time stamp %d: want more than 0: %w", at,
			bytetuning.ErrTelemetry)
	}
	// units.Time wraps after 106 days; only differences are used.
	return Reading{At: units.Time(at * int64(units.Nanosecond)), Octets: uint64(octets),
		Length: units.Bytes(length)}, nil
}

// leaf stores a value, or the numbers of a container.
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

// container stores the leaves of a JSON object, or a single leaf. RFC 7951 encodes 64-bit numbers
// as strings.
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

// number stores a text that is a number. Other texts, such as the queue's name, are ignored unless
// a counter is expected.
func number(leaves map[string]float64, name, text string) error {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		leaves[name] = v
	} else if name == "transmit-octets" || strings.HasSuffix(name, "-queue-len") {
		return fmt.Errorf("%s is %q, want a number: %w", name, text, bytetuning.ErrTelemetry)
	}
	return nil
}
