package report

import (
	"fmt"
	"strconv"
	"strings"
)

// RXE are soft-RoCE's hardware counters, those that tell of recovery
// (drivers/infiniband/sw/rxe/rxe_hw_counters.c).
type RXE map[string]uint64

// ReadRXE reads lines of name and number, as `grep . hw_counters/*` prints them with a colon
// between.
func ReadRXE(text string) (RXE, error) {
	c := RXE{}
	for line := range strings.Lines(text) {
		path, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		n, err := strconv.ParseUint(value, 10, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("hw_counters: %q is not a name, a colon and a number",
				strings.TrimSpace(line))
		}
		c[path[strings.LastIndexByte(path, '/')+1:]] = n
	}
	return c, nil
}

// Since answers what was counted after before.
func (c RXE) Since(before RXE) RXE {
	d := RXE{}
	for name, n := range c {
		d[name] = n - before[name]
	}
	return d
}

// Recoveries is how often rxe had to mend something as a requester or saw, as a responder, that the
// other end did.
func (c RXE) Recoveries() uint64 {
	return c["completer_retry_err"] + c["rcvd_seq_err"] + c["duplicate_request"] +
		c["out_of_seq_request"]
}

func (c RXE) String() string {
	return counts([]count{
		{"retries", c["completer_retry_err"]}, {"sequence NAKs received", c["rcvd_seq_err"]},
		{"duplicates received", c["duplicate_request"]}, {"out of sequence received",
			c["out_of_seq_request"]},
		{"RNR NAKs received", c["rcvd_rnr_err"]}, {"gave up", c["retry_exceeded_err"]},
	})
}
