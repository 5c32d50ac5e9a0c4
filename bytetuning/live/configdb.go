package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	ext "github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/goroce/goroce/units"
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

// enter updates the tables of a configuration in one request, permanently.
func (d configDB) enter(ctx context.Context, config string) error {
	return d.set(ctx, config, nil)
}

// set updates tables, with a commit of gNMI's extension unless that is nil.
func (d configDB) set(ctx context.Context, config string, commit *ext.Commit) error {
	var db map[string]json.RawMessage
	if err := json.Unmarshal([]byte(config), &db); err != nil {
		return err
	}
	set := &gpb.SetRequest{}
	if commit != nil {
		set.Extension = []*ext.Extension{{Ext: &ext.Extension_Commit{Commit: commit}}}
	}
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

// try updates the tables for a limited time, by gNMI's commit confirmed extension.
func (d configDB) try(ctx context.Context, c change, limit units.Duration) error {
	if err := d.probe(ctx); err != nil {
		return err
	}
	return d.set(ctx, c.config, &ext.Commit{Id: session, Action: &ext.Commit_Commit{
		Commit: &ext.CommitRequest{RollbackDuration: durationpb.New(limit.Std())}}})
}

// probe returns an error unless the server implements the extension. A server that does not may
// ignore it, and would then never roll back. To confirm a commit that does not exist is an error
// for a server that implements it.
func (d configDB) probe(ctx context.Context) error {
	err := d.set(ctx, "{}", &ext.Commit{Id: session + "-probe",
		Action: &ext.Commit_Confirm{Confirm: &ext.CommitConfirm{}}})
	switch status.Code(errors.Unwrap(err)) {
	case codes.FailedPrecondition, codes.InvalidArgument:
		return nil
	case codes.OK, codes.Unimplemented:
		return errors.New("live: gnmi: the server does not implement the commit confirmed " +
			"extension and could not roll back: want apply: ssh")
	}
	return err
}

// confirm makes the change on trial permanent.
func (d configDB) confirm(ctx context.Context) error {
	return d.set(ctx, "{}", &ext.Commit{Id: session,
		Action: &ext.Commit_Confirm{Confirm: &ext.CommitConfirm{}}})
}

// revert ends a trial and restores the tables before it.
func (d configDB) revert(ctx context.Context, _ change) error {
	return d.set(ctx, "{}", &ext.Commit{Id: session,
		Action: &ext.Commit_Cancel{Cancel: &ext.CommitCancel{}}})
}
