package observe

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce"
	"github.com/goroce/goroce/internal/cli"
	"github.com/goroce/goroce/internal/dpdktest"
	"github.com/goroce/goroce/trace/sqlog"
)

func TestMain(m *testing.M) { dpdktest.Main(m, nil) }

// parse parses a command line of the flags.
func parse(args ...string) (*Flags, error) {
	f := &Flags{}
	table := &cli.Table{Groups: []cli.Group{{Flags: f.Table()}}}
	fs := table.FlagSet("test")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return f, table.Validate()
}

// TestObserver checks that a host is in the metrics and that the log begins as an event log.
func TestObserver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.sqlog")
	f, err := parse("--metrics", "127.0.0.1:0", "--trace", file, "--trace-sample", "10%")
	require.NoError(t, err)
	o, err := f.Start("test")
	require.NoError(t, err)
	host, err := o.Open("loop:"+t.Name(), goroce.Options{})
	require.NoError(t, err)
	answer, err := http.Get("http://" + o.server.Addr().String() + "/metrics")
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Contains(t, string(text), "goroce_port_link_up")
	require.NoError(t, host.Close())
	var said bytes.Buffer
	require.NoError(t, o.Close(&said))
	require.Empty(t, said.String())
	log, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, sqlog.Is(log))
}

// TestNothing checks an Observer without flags, and a nil one.
func TestNothing(t *testing.T) {
	f, err := parse()
	require.NoError(t, err)
	o, err := f.Start("test")
	require.NoError(t, err)
	for _, o := range []*Observer{o, nil} {
		host, err := o.Open("loop:"+t.Name(), goroce.Options{})
		require.NoError(t, err)
		require.NoError(t, host.Close())
	}
	require.NoError(t, o.Close(io.Discard))
}

func TestErrors(t *testing.T) {
	_, err := parse("--metrics", "9100")
	require.ErrorContains(t, err, "--metrics 9100: want HOST:PORT")
	f, err := parse("--trace", "/nowhere/t.sqlog")
	require.NoError(t, err)
	_, err = f.Start("test")
	require.ErrorContains(t, err, "/nowhere/t.sqlog")
}
