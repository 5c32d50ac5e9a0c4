package live

import (
	"context"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// commits is a gNMI server's CONFIG_DB with the commit confirmed extension
// (openconfig/reference, rpc/gnmi/gnmi-commit-confirmed.md).
type commits struct {
	gpb.UnimplementedGNMIServer
	dbMu      sync.Mutex
	db        map[string]string
	refuse    bool
	supported bool // the extension; otherwise it is ignored
	now       func() time.Time

	id     string // of the commit on trial; "": none
	before map[string]string
	end    time.Time
}

// expire undoes a commit whose time is over.
func (c *commits) expire() {
	if c.id != "" && !c.now().Before(c.end) {
		c.db, c.id = c.before, ""
	}
}

func (c *commits) table(name string) string {
	c.dbMu.Lock()
	defer c.dbMu.Unlock()
	c.expire()
	return c.db[name]
}

func (c *commits) Get(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
	name := r.GetPath()[0].GetElem()[2].GetName()
	text := c.table(name)
	if text == "" {
		return nil, status.Error(codes.NotFound, name)
	}
	v := &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(text)}}
	return &gpb.GetResponse{Notification: []*gpb.Notification{{Update: []*gpb.Update{{Val: v}}}}},
		nil
}

func (c *commits) Set(_ context.Context, r *gpb.SetRequest) (*gpb.SetResponse, error) {
	c.dbMu.Lock()
	defer c.dbMu.Unlock()
	c.expire()
	if c.refuse && len(r.GetUpdate()) > 0 {
		return nil, status.Error(codes.InvalidArgument, "no such field")
	}
	before := map[string]string{}
	for name, text := range c.db {
		before[name] = text
	}
	if c.supported {
		if err := c.commit(r, before); err != nil {
			return nil, err
		}
	}
	for _, u := range r.GetUpdate() {
		c.db[u.GetPath().GetElem()[2].GetName()] = string(u.GetVal().GetJsonIetfVal())
	}
	return &gpb.SetResponse{}, nil
}

func (c *commits) commit(r *gpb.SetRequest, before map[string]string) error {
	if len(r.GetExtension()) == 0 {
		if c.id != "" {
			return status.Error(codes.FailedPrecondition, "a commit is on trial")
		}
		return nil
	}
	x := r.GetExtension()[0].GetCommit()
	if limit := x.GetCommit(); limit != nil {
		if c.id != "" {
			return status.Error(codes.FailedPrecondition, "a commit is on trial")
		}
		c.id, c.before = x.GetId(), before
		c.end = c.now().Add(limit.GetRollbackDuration().AsDuration())
		return nil
	}
	switch {
	case c.id == "":
		return status.Error(codes.FailedPrecondition, "no commit is on trial")
	case c.id != x.GetId():
		return status.Error(codes.InvalidArgument, "another commit is on trial")
	case x.GetCancel() != nil:
		c.db = c.before
	}
	c.id = ""
	return nil
}

// gnmiNetwork returns a network of one SONiC switch that is configured over gNMI, and its clock.
func gnmiNetwork(t *testing.T, b *box) (*Network, *time.Time) {
	n := network(t, b)
	n.Fleet.Switches = n.Fleet.Switches[:1]
	n.Fleet.Switches[0].Apply = "gnmi"
	now := time.Now()
	n.now = func() time.Time { return now }
	b.commits.now = n.now
	return n, &now
}

// TestConfigDB checks SONiC over gNMI: tables are saved, changed on trial, and restored.
func TestConfigDB(t *testing.T) {
	b := newBox(t)
	n, now := gnmiNetwork(t, b)
	assert.ErrorContains(t, n.Apply(t.Context(), good), "want at least one table of a watermark")
	before := `{"Ethernet0|3": {"wred_profile": "OLD"}}`
	b.db["QUEUE"] = before
	b.refuse = true
	assert.ErrorContains(t, n.Apply(t.Context(), good), "no such field")
	b.refuse = false
	*now = now.Add(time.Hour)
	require.NoError(t, n.Apply(t.Context(), good))
	assert.Contains(t, b.table("WRED_PROFILE"), `"512000"`)
	assert.Contains(t, b.table("QUEUE"), "bytetuning_tor")
	*now = now.Add(n.Fleet.Confirm.Std())
	assert.JSONEq(t, before, b.table("QUEUE"), "the tuner died")

	require.NoError(t, n.Apply(t.Context(), good))
	require.NoError(t, n.Revert(t.Context()))
	assert.JSONEq(t, before, b.table("QUEUE"))

	require.NoError(t, n.Apply(t.Context(), good))
	require.NoError(t, n.Confirm(t.Context()))
	*now = now.Add(time.Hour)
	assert.Contains(t, b.table("QUEUE"), "bytetuning_tor")
	require.NoError(t, n.Rollback(t.Context()))
	assert.JSONEq(t, before, b.table("QUEUE"))
	assert.Empty(t, b.received, "no shell")
}

// TestWithoutCommitConfirmed checks that a server that ignores the extension is not changed.
func TestWithoutCommitConfirmed(t *testing.T) {
	b := newBox(t)
	n, _ := gnmiNetwork(t, b)
	b.db["QUEUE"] = "{}"
	b.supported = false
	assert.ErrorContains(t, n.Apply(t.Context(), good), "does not implement the commit confirmed")
	assert.Equal(t, map[string]string{"QUEUE": "{}"}, b.db)
}
