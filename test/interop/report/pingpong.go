package report

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goroce/goroce/units"
)

// Errors of the tests that verify the data.
var (
	ErrUnfinished = errors.New("the output lacks the final line")
	ErrCorrupt    = errors.New("wrong bytes arrived")
)

// The last lines of ibv_rc_pingpong. The bytes are those of both directions.
var (
	pingpongBytes = regexp.MustCompile(`(?m)^(\d+) bytes in [\d.]+ seconds`)
	pingpongIters = regexp.MustCompile(`(?m)^(\d+) iters in [\d.]+ seconds = ([\d.]+) usec/iter`)
)

// Pingpong parses the output of ibv_rc_pingpong: size, iterations, and half the time of one.
func Pingpong(text string) (r Row, err error) {
	if strings.Contains(text, "invalid data") {
		return r, ErrCorrupt
	}
	bytes, iters := pingpongBytes.FindStringSubmatch(text), pingpongIters.FindStringSubmatch(text)
	if bytes == nil || iters == nil {
		return r, ErrUnfinished
	}
	total, err := strconv.ParseUint(bytes[1], 10, 62)
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrUnfinished, err)
	}
	n, err := strconv.ParseUint(iters[1], 10, 31)
	if err != nil || n == 0 {
		return r, fmt.Errorf("%w: %s iterations", ErrUnfinished, iters[1])
	}
	const both = 2
	r.Size, r.Iterations = units.Bytes(total/both/n), int(n)
	r.Latency, err = strconv.ParseFloat(iters[2], 64)
	r.Latency /= both
	return r, err
}

var rpingLine = regexp.MustCompile(`(?m)^(?:server )?ping data: rdma-ping-(\d+): `)

// Rping returns the number of messages that rping -v printed, which are numbered from 0.
func Rping(text string) (int, error) {
	if strings.Contains(text, "data mismatch") {
		return 0, ErrCorrupt
	}
	lines := rpingLine.FindAllStringSubmatch(text, -1)
	for i, l := range lines {
		if l[1] != strconv.Itoa(i) {
			return 0, fmt.Errorf("%w: message %s, want %d", ErrCorrupt, l[1], i)
		}
	}
	return len(lines), nil
}
