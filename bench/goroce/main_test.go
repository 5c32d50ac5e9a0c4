package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/internal/cli"
)

func TestChoose(t *testing.T) {
	for args, rest := range map[string]string{
		"goroce roce_write_bw -a":         "roce_write_bw -a",
		"/usr/local/bin/roce_send_lat -a": "/usr/local/bin/roce_send_lat -a",
		"roce_read_bw roce_rping":         "roce_read_bw roce_rping",
		"goroce":                          "",
		"goroce --help":                   "",
		"goroce ib_write_bw":              "",
	} {
		run, own := choose(strings.Fields(args))
		require.Equal(t, rest, strings.Join(own, " "), args)
		require.Equal(t, rest != "", run != nil, args)
	}
}

// TestCommand checks a command line that names no program.
func TestCommand(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"":             {cli.OK, "roce_atomic_lat"},
		"--version":    {cli.OK, "DPDK"},
		"roce_wrte_bw": {cli.Misuse, "did you mean roce_write_bw"},
	} {
		var out bytes.Buffer
		require.Equal(t, want.code, cli.Run(t.Context(), command(), &out, &out,
			strings.Fields(args)...), args)
		require.Contains(t, out.String(), want.says)
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
