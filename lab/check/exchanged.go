package check

import (
	"fmt"

	"github.com/goroce/goroce/lab/claims"
)

// Exchanged counts the claims of experiments below dir that hold at small scale, and those that
// were judged again with exchanged results, and returns the counts as text. It returns "" if there
// are no results at small scale.
func Exchanged(dir string, experiments []*claims.Experiment) string {
	var hold, tested, vacuous int
	for _, e := range experiments {
		r, _, err := read(e, dir)
		if err != nil || r.Scale != claims.SmallScale {
			continue
		}
		for _, v := range r.Claims {
			if v.Outcome() != claims.Holds {
				continue
			}
			hold++
			if v.Exchange != nil {
				tested++
				if v.Exchange.Holds {
					vacuous++
				}
			}
		}
	}
	if hold == 0 {
		return ""
	}
	return fmt.Sprintf("of %d claims that hold, %d compare results that can be exchanged: %d fail "+
		"after an exchange, %d do not discriminate", hold, tested, tested-vacuous, vacuous)
}
