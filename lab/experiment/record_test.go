package experiment

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJobTakesDown(t *testing.T) {
	var progress []float64
	j := NewJob(t.Context(), Cell{"n=8", 8}, Small, 3, func(f float64) {
		progress = append(progress, f)
	})
	assert.Equal(t, 8, j.Params.(int))
	assert.Equal(t, Small, j.Scale)
	assert.EqualValues(t, 3, j.Seed)
	assert.Equal(t, t.Context(), j.Context())
	j.Progress(0.5)
	assert.Equal(t, []float64{0.5}, progress)

	queue := j.Series("queue")
	j.Value("fct", 2, 1)
	j.Value("drops")
	j.Series("rate")
	queue.Add(0, 10)
	j.Value("fct", math.Inf(1))
	j.Series("queue").Add(1, 20)
	text, err := json.Marshal(j.Record())
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"values": [{"name": "fct", "values": [2, 1, "+Inf"]}, {"name": "drops", "values": []}],
		"series": [
			{"name": "queue", "x": [0, 1], "y": [10, 20]}, {"name": "rate", "x": [], "y": []}]
	}`, string(text))
	NewJob(t.Context(), Cell{}, Small, 1, nil).Progress(1) // without a listener
}

func TestRecordErrors(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                 "cannot unmarshal",
		`{"values": [null]}`: "values are null or duplicate",
		`{"series": [null]}`: "a series is null or duplicate",
		`{"values": [{"name": "a"}, {"name": "a"}]}`: "values are null or duplicate",
		`{"series": [{"name": "a"}, {"name": "a"}]}`: "a series is null or duplicate",
		`{"series": [{"name": "a", "x": [1]}]}`:      `series "a" has 1 x for 0 y`,
	} {
		assert.ErrorContains(t, json.Unmarshal([]byte(text), &Record{}), want, text)
	}
}

// FuzzRecord: a record that decodes is encoded and decoded as the same.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"values":[{"name":"fct","values":[2,1,"+Inf"]}],` +
		`"series":[{"name":"queue","x":[0,"NaN"],"y":[10,20]}]}`))
	f.Add([]byte(`{"series":[{"name":"a","x":[1]}]}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r, again Record
		if json.Unmarshal(data, &r) != nil {
			return
		}
		text, err := json.Marshal(&r)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &again))
		more, err := json.Marshal(&again)
		require.NoError(t, err)
		require.Equal(t, string(text), string(more))
	})
}
