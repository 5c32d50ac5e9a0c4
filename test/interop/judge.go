package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goroce/goroce/test/interop/matrix"
	"github.com/goroce/goroce/test/interop/report"
	"github.com/goroce/goroce/units"
)

// judge returns an error unless a cell passed: both programs ended with exit code 0, and each
// printed a result, if it has one, of the requested size and number of messages. It returns the
// client's row, which is perftest's result.
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
		return report.Row{}, fmt.Errorf("ours: want output %q", withoutTokens)
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

// withoutTokens is what our programs print when the peer does not support tokens.
const withoutTokens = "going on without tokens"

// silentServer reports whether the test's server prints no table, as ib_read_lat and ib_atomic_lat
// do.
func silentServer(t matrix.Test) bool { return t == matrix.ReadLat || t == matrix.AtomicLat }

var errOther = errors.New("result of a different test")

// read returns the result that an output has for a cell.
func read(c matrix.Cell, out string, ours bool) (r report.Row, err error) {
	want := c.Iterations()
	switch c.Test {
	case matrix.Rping:
		n, err := report.Rping(out)
		if err == nil && n != want {
			err = fmt.Errorf("%w: %d messages verified, want %d", errOther, n, want)
		}
		return r, err
	case matrix.RCPingpong:
		r, err = report.Pingpong(out)
	default:
		var rows []report.Row
		rows, err = report.Table(out)
		if err == nil && len(rows) != 1 {
			err = fmt.Errorf("%w: %d rows, want 1", errOther, len(rows))
		}
		if err == nil {
			r = rows[0]
		}
		want *= c.QPs
	}
	if c.Watched() { // it runs for a time, not for a number of messages
		if err == nil && (r.Size != c.Size || r.Iterations == 0) {
			err = fmt.Errorf("%w: %d messages of %v, want at least 1 of %v", errOther, r.Iterations,
				r.Size, units.Bytes(c.Size))
		}
		return r, err
	}
	// The responding end of a ping-pong sees n messages and n-1 intervals. Ours prints n-1;
	// perftest has n-1 samples, too, but prints n.
	if ours && c.Test.Latency() && !silentServer(c.Test) && r.Iterations == want-1 {
		return r, err
	}
	if err == nil && (r.Size != c.Size || r.Iterations != want) {
		err = fmt.Errorf("%w: %d messages of %v, want %d of %v", errOther, r.Iterations, r.Size,
			want, units.Bytes(c.Size))
	}
	return r, err
}
