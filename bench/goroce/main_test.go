package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		args, program, rest string
		code                int
	}{
		{"goroce roce_write_bw -a", "roce_write_bw", "roce_write_bw -a", exitOK},
		{"/usr/local/bin/roce_send_lat -a", "roce_send_lat", "/usr/local/bin/roce_send_lat -a",
			exitOK},
		{"roce_read_bw roce_read_lat", "roce_read_bw", "roce_read_bw roce_read_lat", exitOK},
		{"goroce", "", "", exitOK},
		{"goroce --help", "", "", exitOK},
		{"goroce ib_write_bw", "", "", exitUsage},
	} {
		var out, errors bytes.Buffer
		test, rest, code := choose(strings.Fields(c.args), &out, &errors)
		assert.Equal(t, c.code, code, c.args)
		assert.Equal(t, c.code != exitOK, errors.Len() > 0, c.args)
		assert.Equal(t, c.rest, strings.Join(rest, " "))
		if c.program != "" {
			require.NotNil(t, test, c.args)
			assert.Equal(t, c.program, test.Name())
		} else if code == exitOK {
			assert.Contains(t, out.String(), "roce_atomic_lat")
		}
	}
}

// Each program of bench/perftest has its own command beside this one.
func TestEveryProgram(t *testing.T) {
	for i := range tests {
		_, err := os.Stat("../" + tests[i].Name() + "/main.go")
		assert.NoError(t, err)
	}
}
