package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// SingleDash returns args with two dashes before the long flags of c that have one, as package flag
// accepts them: programs that used it keep their command lines.
func SingleDash(c *cobra.Command, args []string) []string {
	var all []string
	for i, arg := range args {
		if arg == "--" {
			return append(all, args[i:]...)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if len(name) > 1 && arg[0] == '-' && (c.Flags().Lookup(name) != nil || name == "help") {
			arg = "-" + arg
		}
		all = append(all, arg)
	}
	return all
}
