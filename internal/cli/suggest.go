package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// NormalizeFlags accepts - for _ and vice versa in the names of a set, as programs with perftest's
// flags do.
func NormalizeFlags(fs *pflag.FlagSet) {
	fold := func(s string) string { return strings.ReplaceAll(s, "_", "-") }
	known := map[string]string{}
	fs.VisitAll(func(f *pflag.Flag) { known[fold(f.Name)] = f.Name })
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if to, ok := known[fold(name)]; ok {
			name = to
		}
		return pflag.NormalizedName(name)
	})
}

// suggestFlags adds the flags with similar names to the error of an unknown flag.
func suggestFlags(err error, fs *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	var like []string
	fs.VisitAll(func(f *pflag.Flag) {
		alike := distance(strings.ToLower(name), strings.ToLower(f.Name)) <= 2
		within := strings.Contains(f.Name, name) ||
			len(f.Name) > 1 && strings.Contains(name, f.Name)
		if len(name) > 1 && (alike || within) {
			like = append(like, "--"+f.Name)
		}
	})
	if len(like) == 0 {
		return err
	}
	return fmt.Errorf("%w; did you mean %s?", err, strings.Join(like, " or "))
}

// distance returns the Levenshtein distance of a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
