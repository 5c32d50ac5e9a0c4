package runner

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"0/1": {0, 1}, "0/4": {0, 4}, "3/4": {3, 4}} {
		got, err := ParseShard(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Equal(t, text, got.String())
	}
	for _, text := range []string{"", "1", "4/4", "-1/4", "1/0", "0/0", "a/4", "1/b", "1/4/2",
		" 1/4"} {
		_, err := ParseShard(text)
		assert.ErrorContains(t, err, `shard "`+text+`": want index/count`)
	}
}

func FuzzParseShard(f *testing.F) {
	for _, text := range []string{"0/1", "3/4", "+0/+1", "01/2",
		"9223372036854775807/9223372036854775808", "/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseShard(text)
		if err != nil {
			require.Zero(t, s)
			return
		}
		require.True(t, 0 <= s.Index && s.Index < s.Count)
		again, err := ParseShard(s.String())
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}

// TestShardsAreAPartition: every index belongs to exactly one of the shards.
func TestShardsAreAPartition(t *testing.T) {
	assert.True(t, Shard{}.Has(7), "the zero Shard has all")
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 100).Draw(t, "count")
		place := rapid.IntRange(0, 10000).Draw(t, "place")
		owners := 0
		for i := range count {
			if (Shard{i, count}).Has(place) {
				owners++
			}
		}
		require.Equal(t, 1, owners)
	})
}

func TestShardOf(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want Shard
		err  string
	}{
		{nil, Shard{}, ""},
		{map[string]string{"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8"}, Shard{3, 8},
			""},
		{slurm("3", "1", "1", "3"), Shard{2, 3}, ""},
		{slurm("14", "10", "2", "3"), Shard{2, 3}, ""},
		{slurm("5", "1", "1", "3"), Shard{}, "has to be a range"}, // --array=1,2,5
		{slurm("11", "10", "2", "3"), Shard{}, "has to be a range"},
		{slurm("0", "1", "1", "3"), Shard{}, "has to be a range"},
		{map[string]string{"SLURM_ARRAY_TASK_ID": "0"}, Shard{}, "has to be a range"},
		{slurm("x", "1", "1", "3"), Shard{}, `SLURM_ARRAY_TASK_ID="x" is not a number`},
		{slurm("1", "1", "0", "3"), Shard{}, "has to be a range"},
		{map[string]string{"JOB_COMPLETION_INDEX": "2", "JOB_COMPLETIONS": "5"}, Shard{2, 5}, ""},
		{map[string]string{"JOB_COMPLETION_INDEX": "2"}, Shard{}, "not JOB_COMPLETIONS"},
		{map[string]string{"JOB_COMPLETION_INDEX": "5", "JOB_COMPLETIONS": "5"}, Shard{},
			`shard "5/5"`},
		{map[string]string{"JOB_COMPLETIONS": "5"}, Shard{}, ""},
	} {
		got, err := ShardOf(func(name string) string { return c.env[name] })
		if c.err != "" {
			assert.ErrorContains(t, err, c.err, "%v", c.env)
			continue
		}
		require.NoError(t, err, "%v", c.env)
		assert.Equal(t, c.want, got, "%v", c.env)
	}
}

func slurm(id, low, step, count string) map[string]string {
	return map[string]string{"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_MIN": low,
		"SLURM_ARRAY_TASK_STEP": step, "SLURM_ARRAY_TASK_COUNT": count}
}
