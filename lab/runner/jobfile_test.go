package runner

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const goodJob = `{"setup":{"experiment":"demo/bench","scale":"small",` +
	`"cell":"c0","params":1,"seed":1},` +
	`"code":{"id":"one","commit":"c1"},"seconds":0.5,` +
	`"record":{"values":[{"name":"fct","values":[1,"+Inf"]}]}}`

func TestDecodeJob(t *testing.T) {
	f, err := decodeJob([]byte(goodJob))
	require.NoError(t, err)
	assert.Equal(t, oneCode, f.Code)
	assert.Equal(t, 0.5, f.Seconds)
	for text, want := range map[string]string{
		``:                                       "unexpected end",
		`{}`:                                     "want either an error or a record",
		`{"error": "x", "record": {}}`:           "want either an error or a record",
		`{"record": {"values": [null]}}`:         "values are null",
		`{"record": {"series": [{"x": ["1"]}]}}`: `"1" is not a number`,
		goodJob + "x":                            "invalid character",
	} {
		_, err := decodeJob([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

// FuzzDecodeJob: a job file that decodes is encoded and decoded as the same.
func FuzzDecodeJob(f *testing.F) {
	f.Add([]byte(goodJob))
	f.Add([]byte(`{"setup": {}, "error": "panic"}`))
	f.Add([]byte(`{"setup": null, "record": {"series": [{"name": "q", "x": [0], "y": [1e-7]}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		job, err := decodeJob(data)
		if err != nil {
			return
		}
		text, err := job.encode()
		require.NoError(t, err)
		again, err := decodeJob(text)
		require.NoError(t, err)
		more, err := again.encode()
		require.NoError(t, err)
		require.Equal(t, string(text), string(more))
	})
}

func TestDecodePlan(t *testing.T) {
	f, err := decodePlan([]byte(`{"scale":"full","seeds":[1,2,3]}`))
	require.NoError(t, err)
	assert.Equal(t, planFile{"full", []uint64{1, 2, 3}}, f)
	for text, want := range map[string]string{
		`{"scale":"large","seeds":[1]}`:  `scale "large": want full or small`,
		`{"scale":"small","seeds":[-1]}`: "cannot unmarshal",
		`[]`:                             "cannot unmarshal",
	} {
		_, err := decodePlan([]byte(text))
		assert.ErrorContains(t, err, want)
	}
}
