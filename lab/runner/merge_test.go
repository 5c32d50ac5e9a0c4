package runner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/experiment"
	"github.com/goroce/goroce/lab/labtest"
)

func TestMergeOfShardsIsTheWhole(t *testing.T) {
	whole := t.TempDir()
	p := runDice(t, whole, experiment.Full, Options{})
	_, err := Finish(whole, p, dice(t), nil)
	require.NoError(t, err)

	into := filepath.Join(t.TempDir(), "not there yet")
	for i := range 3 {
		shard := t.TempDir()
		runDice(t, shard, experiment.Full, Options{Shard: Shard{i, 3}})
		require.NoError(t, Merge(into, shard, "demo/dice"))
	}
	merged, err := LoadPlan(into, labtest.Dice)
	require.NoError(t, err)
	state, err := Finish(into, merged, dice(t), nil)
	require.NoError(t, err)
	assert.True(t, state.Complete())
	assert.Equal(t, contents(t, whole), contents(t, into))
}

func TestMergeKeepsWhatEndedWell(t *testing.T) {
	good, bad := t.TempDir(), t.TempDir()
	runDice(t, good, experiment.Small, Options{})
	fails := *labtest.Dice
	fails.Run = func(*experiment.Job) error { return errors.New("no") }
	playOf(t, &fails, bad, experiment.Small, Options{})
	job := filepath.Join("demo/dice/jobs", "n=1-1.json")
	want, err := os.ReadFile(filepath.Join(good, job))
	require.NoError(t, err)

	require.NoError(t, Merge(good, bad, "demo/dice"))
	got, err := os.ReadFile(filepath.Join(good, job))
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "not replaced by a failed one")

	require.NoError(t, Merge(bad, good, "demo/dice"))
	got, err = os.ReadFile(filepath.Join(bad, job))
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "replaces a failed one")
}

func TestMergeOfDifferentPlansIsAnError(t *testing.T) {
	small, full := t.TempDir(), t.TempDir()
	runDice(t, small, experiment.Small, Options{})
	runDice(t, full, experiment.Full, Options{})
	err := Merge(small, full, "demo/dice")
	assert.ErrorContains(t, err, "has scale small and seeds [1]")
	assert.ErrorContains(t, err, "has scale full and seeds [1 2 3]")
	assert.NoError(t, Merge(small, t.TempDir(), "demo/dice"), "nothing there")
}

func TestFound(t *testing.T) {
	dir := t.TempDir()
	runDice(t, dir, experiment.Small, Options{})
	for name, text := range map[string]string{
		"demo/coins/claims.json": "{}", "demo/empty/notes.txt": "", "index.html": "",
		"demo/file": "",
	} {
		require.NoError(t, writeFile(filepath.Join(dir, name), []byte(text)))
	}
	ids, err := Found(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"demo/coins", "demo/dice"}, ids)
	_, err = Found(filepath.Join(dir, "nowhere"))
	assert.ErrorContains(t, err, "no such file")
}

func TestLoadPlan(t *testing.T) {
	dir := t.TempDir()
	p, err := LoadPlan(dir, labtest.Dice)
	require.NoError(t, err)
	assert.Nil(t, p, "nothing there")
	want := runDice(t, dir, experiment.Full, Options{})
	p, err = LoadPlan(dir, labtest.Dice)
	require.NoError(t, err)
	assert.Equal(t, want.Seeds, p.Seeds)
	assert.Equal(t, want.Scale, p.Scale)
	require.NoError(t, os.WriteFile(planPath(dir, "demo/dice"), []byte("x"), 0o644))
	_, err = LoadPlan(dir, labtest.Dice)
	assert.ErrorContains(t, err, "plan.json")
}

func TestFilesAreReplacedAtOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b.json")
	require.NoError(t, writeFile(path, []byte("one")))
	require.NoError(t, writeFile(path, []byte("two")))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "two", string(text))
	failed := replace(path, func(beside string) error {
		require.NoError(t, os.WriteFile(beside, []byte("half"), 0o644))
		return errors.New("disk full")
	})
	assert.EqualError(t, failed, "disk full")
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "two", string(text))
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, files, 1, "no other file is left")
}
