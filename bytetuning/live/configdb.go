package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// configDB configures SONiC's CONFIG_DB over gNMI, with the paths of its gNMI server: origin
// sonic-db, one path per table.
type configDB struct{ *Reader }

// tables are the tables that the dialect writes.
var tables = []string{"BUFFER_PG", "BUFFER_PROFILE", "PORT_QOS_MAP", "QUEUE", "WRED_PROFILE"}

func tablePath(table string) *gpb.Path {
	return &gpb.Path{Origin: "sonic-db", Elem: []*gpb.PathElem{{Name: "CONFIG_DB"},
		{Name: "localhost"}, {Name: table}}}
}

// save returns the tables. Missing ones are left out.
func (d configDB) save(ctx context.Context) ([]byte, error) {
	db := map[string]json.RawMessage{}
	for _, table := range tables {
		answer, err := d.client.Get(d.outgoing(ctx), &gpb.GetRequest{
			Path: []*gpb.Path{tablePath(table)}, Type: gpb.GetRequest_CONFIG,
			Encoding: gpb.Encoding_JSON_IETF,
		})
		if status.Code(err) == codes.NotFound {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("live: gnmi: %s: %w", table, err)
		}
		for _, n := range answer.GetNotification() {
			for _, u := range n.GetUpdate() {
				if text := u.GetVal().GetJsonIetfVal(); json.Valid(text) {
					db[table] = text
				}
			}
		}
	}
	if len(db) == 0 {
		return nil, errors.New("live: gnmi: CONFIG_DB: want at least one table of a watermark")
	}
	return json.MarshalIndent(db, "", "  ")
}

// enter updates the tables of a configuration in one request.
func (d configDB) enter(ctx context.Context, config string) error {
	var db map[string]json.RawMessage
	if err := json.Unmarshal([]byte(config), &db); err != nil {
		return err
	}
	set := &gpb.SetRequest{}
	for _, table := range slices.Sorted(maps.Keys(db)) {
		set.Update = append(set.Update, &gpb.Update{
			Path: tablePath(table),
			Val:  &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: db[table]}},
		})
	}
	if _, err := d.client.Set(d.outgoing(ctx), set); err != nil {
		return fmt.Errorf("live: gnmi: rejected: %w", err)
	}
	return nil
}
