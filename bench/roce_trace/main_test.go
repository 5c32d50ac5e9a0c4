package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/trace"
	"github.com/goroce/goroce/trace/sqlog"
)

const captured = "../../transport/wire/testdata/rc-send-multi.pcap"

func execute(args ...string) (out string, err error) {
	var text bytes.Buffer
	c := command()
	c.SetOut(&text)
	c.SetErr(&text)
	c.SetArgs(args)
	err = c.Execute()
	return text.String(), err
}

func TestCapture(t *testing.T) {
	page := filepath.Join(t.TempDir(), "x.html")
	out, err := execute(captured, "-o", page)
	require.NoError(t, err)
	require.Contains(t, out, "capture of")
	require.NotContains(t, out, "roce_trace: ", "a short file needs no progress")
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(html), "rc-send-multi")
}

func TestLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.sqlog")
	l, err := sqlog.Create(name, sqlog.Options{Sample: 1, Virtual: true})
	require.NoError(t, err)
	l.Ring("host").Record(&trace.Event{Kind: trace.CNPSent, QP: 7})
	require.NoError(t, l.Close())
	out, err := execute(name)
	require.NoError(t, err)
	require.Contains(t, out, "host 0x7")
}

// TestErrors checks that errors name the file, the offset and the rule, and that what came before
// is reported.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, data, 0o600))
		return name
	}
	data, err := os.ReadFile(captured)
	require.NoError(t, err)
	for name, want := range map[string]string{
		file("empty", nil):              "empty: byte 0: \"\" begins neither",
		file("text", []byte("hello")):   "text: byte 0: \"hell\" begins neither",
		file("log", []byte("\x1e{}\n")): "log: byte 0: serialization_format",
		file("header", data[:20]):       "header: byte",
		file("cut", data[:len(data)-1]): "the packet is cut off",
		filepath.Join(dir, "none"):      "no such file",
		file("x", append(data, 1, 2)):   "the packet is cut off",
	} {
		out, err := execute(name)
		require.ErrorContains(t, err, want)
		require.Equal(t, strings.Contains(err.Error(), "cut off") && len(name) > 0 &&
			!strings.HasSuffix(name, "header"), strings.Contains(out, "RC"), name)
	}
	_, err = execute()
	require.ErrorContains(t, err, "accepts 1 arg")
	_, err = execute(captured, "-o", filepath.Join(dir, "no", "x.html"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	show := progressTo(&out, false)
	for part := 0.0; part <= 1; part += 0.01 {
		show(part)
	}
	require.Equal(t, 10, strings.Count(out.String()+"100%\n", "%\n"), out.String())
	out.Reset()
	progressTo(&out, true)(0.5)
	require.Empty(t, out.String())
}
