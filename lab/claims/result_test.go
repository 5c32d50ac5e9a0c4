package claims

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const written = `{
  "experiment": "p/a",
  "scale": "small",
  "seeds": [
    1,
    18446744073709551615
  ],
  "commit": "0123abc",
  "command": "lab run p/a --small",
  "claims": [
    {
      "id": "p/a/fast",
      "value": "1.2ms",
      "pass": false,
      "note": "expected <= 1ms, got 1.2ms"
    },
    {
      "id": "p/a/full",
      "value": {
        "p6": 0.95,
        "p4": 0.9
      },
      "pass": null,
      "note": "not judged at small scale"
    }
  ]
}
`

// TestResultFile: the form of a claims.json, to the byte.
func TestResultFile(t *testing.T) {
	no := false
	r := &Result{
		Experiment: "p/a", Scale: SmallScale, Seeds: []uint64{1, 1<<64 - 1}, Commit: "0123abc",
		Command: "lab run p/a --small",
		Claims: []Verdict{
			{ID: "p/a/fast", Value: Text("1.2ms"), Pass: &no, Note: "expected <= 1ms, got 1.2ms"},
			{ID: "p/a/full", Value: Value{}.With("p6", Number(0.95)).With("p4", Number(0.9)),
				Note: "not judged at small scale"},
		},
	}
	path := filepath.Join(t.TempDir(), "claims.json")
	require.NoError(t, r.Write(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, written, string(text))
	back, err := ReadResult(path)
	require.NoError(t, err)
	assert.Equal(t, r, back)

	require.NoError(t, (&Result{Experiment: "p/a", Scale: FullScale}).Write(path))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"seeds": [],`, "a list also without seeds")
	assert.ErrorContains(t, r.Write(filepath.Join(path, "below")), "claims: result of p/a: ")
}

func TestReadResultErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.json")
	_, err := ReadResult(path)
	assert.ErrorContains(t, err, "claims: result: open ")
	for _, c := range []struct{ old, new, want string }{
		{`"small"`, `"tiny"`, `scale "tiny": want full or small`},
		{`"p/a",`, `"",`, "the name of the experiment is missing"},
		{`"commit"`, `"comit"`, `unknown field "comit"`},
		{`"note": "n`, `"notes": "n`, `unknown field "notes"`},
		{`false`, `"no"`, "cannot unmarshal string"},
		{`"p4"`, `"p6"`, `duplicate key "p6"`},
		{"  1,", "  -1,", "cannot unmarshal number -1"},
		{"\n}\n", "\n}{}", "data after the object"},
		{"\n}\n", "", "unexpected EOF"},
	} {
		require.Contains(t, written, c.old)
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(written, c.old, c.new)),
			0o644))
		_, err := ReadResult(path)
		require.Error(t, err, c.want)
		assert.Contains(t, err.Error(), "claims: result "+path+": ")
		assert.Contains(t, err.Error(), c.want)
	}
}

// FuzzReadResult: any claims.json is read or rejected, and Check returns the same for a result
// before and after it is encoded and decoded.
func FuzzReadResult(f *testing.F) {
	f.Add(written)
	f.Add(`{"experiment": "carc/eq1", "scale": "full", "claims": [{"id": "carc/eq1/credits", ` +
		`"value": {"n16": 12288, "n8": 24576, "n1000": 196}, "pass": true}]}`)
	f.Add(`{"experiment": "x", "scale": "full", "claims": [{}, {"pass": true}, {"value": [[[]]]}]}`)
	f.Add(`{"experiment": "x", "scale": "full"} {`)
	f.Add("")
	e := load(f).Find("carc/eq1")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := DecodeResult([]byte(text))
		if err != nil {
			require.Nil(t, r)
			return
		}
		problems := Check(e, r)
		again, err := json.Marshal(r)
		require.NoError(t, err)
		back, err := DecodeResult(again)
		require.NoError(t, err)
		require.Len(t, back.Claims, len(r.Claims))
		for _, v := range r.Claims {
			if !exact(v.Value) {
				return
			}
		}
		require.Equal(t, problems, Check(e, back))
	})
}
