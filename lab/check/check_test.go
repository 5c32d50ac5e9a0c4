package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goroce/goroce/lab/labtest"
)

// goodDice and goodCoins are complete results that agree with the verdicts: one claim holds, one
// fails, one is not judged.
const (
	goodDice = `{"experiment": "demo/dice", "scale": "small", "seeds": [1], "commit": "c1",
	"claims": [
		{"id": "demo/dice/mean", "value": 0.1, "pass": true, "note": ""},
		{"id": "demo/dice/certain", "value": 1, "pass": false, "note": "fair"},
		{"id": "demo/dice/spread", "value": null, "pass": null, "note": "full only"}]}`
	goodCoins = `{"experiment": "demo/coins", "scale": "full", "seeds": [1, 2, 3], "commit": "c1",
	"claims": [
		{"id": "demo/coins/heads", "value": 0.5, "pass": true, "note": ""}]}`
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestResults(t *testing.T) {
	for _, c := range []struct {
		name       string
		old, new   string // of goodDice
		want       string
		otherFiles map[string]string
	}{
		{name: "complete"},
		{name: "a claim is missing",
			old:  `{"id": "demo/dice/mean", "value": 0.1, "pass": true, "note": ""},`,
			want: "demo/dice/mean: missing from the result"},
		{name: "a claim is unknown", old: "dice/spread", new: "dice/mode",
			want: "demo/dice/mode: demo/dice has no such claim"},
		{name: "a failed claim needs no note", old: "fair"},
		{name: "a claim that held fails",
			old: `0.1, "pass": true, "note": ""`, new: `0.9, "pass": false, "note": "few throws"`,
			want: "demo/dice/mean: fails at small scale, but the committed verdict is holds: " +
				"expected <= 0.2, got 0.9: few throws"},
		{name: "a claim that failed holds", old: `1, "pass": false`, new: `6, "pass": true`,
			want: "demo/dice/certain: holds at small scale, but the committed verdict is fails; " +
				"update the verdict"},
		{name: "a null claim has no note", old: "full only", want: "demo/dice/spread: not " +
			"judged, and without a note"},
		{name: "a pass does not follow", old: "0.1", new: "0.9",
			want: "demo/dice/mean: pass is true"},
		{name: "a claim does not discriminate", old: `"note": ""`,
			new: `"note": "", "exchange": {"of": "n=1 and n=2", "value": 0.15, "holds": true}`,
			want: "demo/dice/mean: does not discriminate: with the results of n=1 and n=2 " +
				"exchanged it holds too (expected <= 0.2, got 0.1, and then 0.15)"},
		{name: "a claim discriminates", old: `"note": ""`,
			new: `"note": "", "exchange": {"of": "n=1 and n=2", "value": 1, "holds": false}`},
		{name: "of another experiment", old: `"demo/dice"`, new: `"demo/coins"`, want: "the " +
			"result is of demo/coins, want demo/dice"},
		{name: "broken", old: `"scale"`, new: `"scales"`, want: `unknown field "scales"`},
		{name: "a stranger", otherFiles: map[string]string{"demo/cards/claims.json": "{}"},
			want: "demo/cards: the catalogue has no such experiment"},
		{name: "other files do not matter", otherFiles: map[string]string{"demo/README.md": "",
			"demo/dice/walk.svg": "", "other/x": ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			require.Contains(t, goodDice, c.old)
			put(t, dir, "demo/dice/claims.json", strings.Replace(goodDice, c.old, c.new, 1))
			put(t, dir, "demo/coins/claims.json", goodCoins)
			for name, text := range c.otherFiles {
				put(t, dir, name, text)
			}
			catalogue := labtest.Catalogue(t)
			problems := strings.Join(Results(catalogue, dir, catalogue.Experiments), "\n")
			if c.want == "" {
				assert.Empty(t, problems)
			} else {
				assert.Contains(t, problems, c.want)
			}
		})
	}
}

// TestExchanged: claims at small scale count, others do not.
func TestExchanged(t *testing.T) {
	dir, catalogue := t.TempDir(), labtest.Catalogue(t)
	put(t, dir, "demo/coins/claims.json", goodCoins)
	assert.Empty(t, Exchanged(dir, catalogue.Experiments))
	put(t, dir, "demo/dice/claims.json", strings.Replace(goodDice, `"note": ""`, `"note": "",
		"exchange": {"of": "n=1 and n=2", "value": 1, "holds": false}`, 1))
	assert.Equal(t, "of 1 claims that hold, 1 compare results that can be exchanged: 1 fail after "+
		"an exchange, 0 do not discriminate", Exchanged(dir, catalogue.Experiments))
}

func TestWhatIsMissing(t *testing.T) {
	dir, catalogue := t.TempDir(), labtest.Catalogue(t)
	assert.Equal(t, []string{
		"demo/dice: no " + filepath.Join(dir, "demo/dice/claims.json"),
		"demo/coins: no " + filepath.Join(dir, "demo/coins/claims.json"),
	}, Results(catalogue, dir, catalogue.Experiments))
	assert.Empty(t, Results(catalogue, dir, nil))
}

// TestUpdate: results are accepted, except one that Check rejects.
func TestUpdate(t *testing.T) {
	dir, catalogue := t.TempDir(), labtest.Catalogue(t)
	put(t, dir, "demo/dice/claims.json",
		strings.Replace(goodDice, `1, "pass": false`, `6, "pass": true`, 1))
	changes, err := Update(dir, catalogue.Experiments)
	assert.EqualError(t, err, "demo/coins: no "+filepath.Join(dir, "demo/coins/claims.json"))
	assert.Equal(t, []string{"demo/dice/certain at small scale: holds, was fails"}, changes)
	assert.Empty(t, Results(catalogue, dir, catalogue.Experiments[:1]))

	put(t, dir, "demo/coins/claims.json", strings.Replace(goodCoins, "0.5", "0.9", 1))
	changes, err = Update(dir, catalogue.Experiments[1:])
	assert.ErrorContains(t, err, "demo/coins/heads: pass is true, want false: "+
		"expected between 0.4 and 0.6 at full scale, got 0.9")
	assert.Empty(t, changes)
}

func TestComplete(t *testing.T) {
	dir := t.TempDir()
	_, err := Complete(dir)
	assert.ErrorContains(t, err, "COMPLETE: no such file")
	put(t, dir, "COMPLETE", "# finished papers\n\ndemo\n  other # since June\n#third\n")
	papers, err := Complete(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"demo", "other"}, papers)
	put(t, dir, "COMPLETE", "")
	papers, err = Complete(dir)
	require.NoError(t, err)
	assert.Empty(t, papers)
}
