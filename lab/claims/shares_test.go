package claims

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/lab.md has how many claims of each paper hold at full scale, by confidence.
func TestSharesInDocs(t *testing.T) {
	c, err := Load()
	require.NoError(t, err)
	text, err := os.ReadFile("../../docs/lab.md")
	require.NoError(t, err)
	type key struct{ paper, confidence string }
	holds, judged := map[key]int{}, map[key]int{}
	var papers []string
	for _, e := range c.Experiments {
		paper, _, _ := strings.Cut(e.ID, "/")
		for i := range e.Claims {
			expected := e.Claims[i].Expected(FullScale)
			if expected == nil || expected.Verdict == NotJudged {
				continue
			}
			k := key{paper, e.Claims[i].Confidence}
			if !slices.Contains(papers, paper) {
				papers = append(papers, paper)
			}
			judged[k]++
			if expected.Verdict == Holds {
				holds[k]++
			}
		}
	}
	for _, paper := range papers {
		row := "| " + paper + " |"
		for _, confidence := range []string{"high", "medium", "low"} {
			k := key{paper, confidence}
			if judged[k] == 0 {
				row += " |"
				continue
			}
			row += fmt.Sprintf(" %d of %d, %.0f %% |", holds[k], judged[k],
				100*float64(holds[k])/float64(judged[k]))
		}
		assert.Contains(t, string(text), row+"\n", "docs/lab.md")
	}
}
