package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goroce/goroce/test/interop/matrix"
	"github.com/goroce/goroce/test/interop/report"
	"github.com/goroce/goroce/units"
)

// judge says whether a cell went well, by what both programs left: they ended well, each printed
// its own result where it has one, and both results are of what was asked for. It answers the
// client's row, which is the one that perftest means.
func judge(c matrix.Cell, ours, theirs outcome) (report.Row, error) {
	var errs []error
	say := func(whose string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", whose, err))
		}
	}
	say("ours", ours.err())
	say("theirs", theirs.err())
	if errs != nil {
		return report.Row{}, errors.Join(errs...)
	}
	if c.Control == matrix.Tokens && !strings.Contains(ours.errs, withoutTokens) {
		return report.Row{}, fmt.Errorf("ours: it does not say %q", withoutTokens)
	}
	client, server := ours, theirs
	names := [2]string{"our client", "their server"}
	if c.Role == matrix.Server {
		client, server = theirs, ours
		names = [2]string{"their client", "our server"}
	}
	row, err := read(c, client.out, c.Role == matrix.Client)
	say(names[0], err)
	_, err = read(c, server.out, c.Role == matrix.Server)
	if errors.Is(err, report.ErrNoTable) && silentServer(c.Test) {
		err = nil
	}
	say(names[1], err)
	return row, errors.Join(errs...)
}

// withoutTokens is what our programs say when they are to use tokens and the peer knows of none.
const withoutTokens = "going on without tokens"

// silentServer says that a server of the test prints no table: ib_read_lat's and ib_atomic_lat's.
func silentServer(t matrix.Test) bool { return t == matrix.ReadLat || t == matrix.AtomicLat }

var errOther = errors.New("a result of something else")

// read answers what an output says of a cell, where it is of that cell.
func read(c matrix.Cell, out string, ours bool) (r report.Row, err error) {
	want := c.Iterations()
	switch c.Test {
	case matrix.Rping:
		n, err := report.Rping(out)
		if err == nil && n != want {
			err = fmt.Errorf("%w: %d messages verified, not %d", errOther, n, want)
		}
		return r, err
	case matrix.RCPingpong:
		r, err = report.Pingpong(out)
	default:
		var rows []report.Row
		rows, err = report.Table(out)
		if err == nil && len(rows) != 1 {
			err = fmt.Errorf("%w: %d rows, not 1", errOther, len(rows))
		}
		if err == nil {
			r = rows[0]
		}
		want *= c.QPs
	}
	if c.Watched() { // for a time, not for a number
		if err == nil && (r.Size != c.Size || r.Iterations == 0) {
			err = fmt.Errorf("%w: %d messages of %v, not some of %v", errOther, r.Iterations,
				r.Size, units.Bytes(c.Size))
		}
		return r, err
	}
	// Of a ping-pong's two ends, the one that answers sees n messages and n-1 times between them.
	// Ours says so; perftest has n-1 samples, too, and prints n.
	if ours && c.Test.Latency() && !silentServer(c.Test) && r.Iterations == want-1 {
		return r, err
	}
	if err == nil && (r.Size != c.Size || r.Iterations != want) {
		err = fmt.Errorf("%w: %d messages of %v, not %d of %v", errOther, r.Iterations, r.Size,
			want, units.Bytes(c.Size))
	}
	return r, err
}
