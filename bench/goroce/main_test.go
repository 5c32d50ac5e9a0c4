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
		args, rest string
		code       int
	}{
		{"goroce roce_write_bw -a", "roce_write_bw -a", exitOK},
		{"/usr/local/bin/roce_send_lat -a", "/usr/local/bin/roce_send_lat -a", exitOK},
		{"roce_read_bw roce_rping", "roce_read_bw roce_rping", exitOK},
		{"goroce", "", exitOK},
		{"goroce --help", "", exitOK},
		{"goroce ib_write_bw", "", exitUsage},
	} {
		var out, errors bytes.Buffer
		run, rest, code := choose(strings.Fields(c.args), &out, &errors)
		assert.Equal(t, c.code, code, c.args)
		assert.Equal(t, c.code != exitOK, errors.Len() > 0, c.args)
		assert.Equal(t, c.rest, strings.Join(rest, " "))
		require.Equal(t, c.rest != "", run != nil, c.args)
		if run == nil && code == exitOK {
			assert.Contains(t, out.String(), "roce_atomic_lat")
		}
	}
}

// Each program has its own command beside this one.
func TestEveryProgram(t *testing.T) {
	require.Len(t, programs, 11)
	for name := range programs {
		_, err := os.Stat("../" + name + "/main.go")
		assert.NoError(t, err)
	}
}
