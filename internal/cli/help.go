package cli

import (
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Widths of help in columns.
const (
	defaultWidth = 100 // without a terminal
	leastWidth   = 60
	mostWidth    = 120
)

// Width returns the number of columns for help: that of the terminal, or of COLUMNS.
func Width(out io.Writer) int {
	n := 0
	if f, ok := out.(*os.File); ok {
		n, _, _ = term.GetSize(int(f.Fd()))
	}
	if n <= 0 {
		n, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	}
	if n <= 0 {
		return defaultWidth
	}
	return min(max(n, leastWidth), mostWidth)
}

// fitHelp wraps the flags in the help of root and its subcommands at the width of out.
func fitHelp(root *cobra.Command, out io.Writer) {
	cobra.AddTemplateFunc("wrapped", func(fs *pflag.FlagSet) string {
		return fs.FlagUsagesWrapped(Width(out))
	})
	cobra.AddTemplateFunc("fitted", func(text string) string { return fit(text, Width(out)) })
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages",
		"Flags | wrapped"))
	root.SetHelpTemplate(strings.ReplaceAll(root.HelpTemplate(), "(or .Long .Short)",
		"(or .Long .Short) | fitted"))
}

// fit breaks the paragraphs with lines longer than columns anew. Indented text stays as it is.
func fit(text string, columns int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		long, indented := false, false
		for line := range strings.Lines(p) {
			long = long || len(strings.TrimRight(line, "\n")) > columns
			indented = indented || line[0] == ' '
		}
		if long && !indented {
			paragraphs[i] = wrapWords(strings.Fields(p), columns)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// wrapWords sets words in lines of at most columns.
func wrapWords(words []string, columns int) string {
	var b strings.Builder
	at := 0
	for _, w := range words {
		switch {
		case at == 0:
		case at+1+len(w) > columns:
			b.WriteString("\n")
			at = 0
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(w)
		at += len(w)
	}
	return b.String()
}

// otherFlags returns the flags of a command that are not in its table: help and version.
func otherFlags(c *cobra.Command, t *Table) *pflag.FlagSet {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	own, other := t.FlagSet(""), pflag.NewFlagSet("", pflag.ContinueOnError)
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if own.Lookup(f.Name) == nil {
			other.AddFlag(f)
		}
	})
	return other
}

// SetHelp makes the flags of a table those of a program without subcommands, whose help has the
// table's groups. The command's Long is the text before the flags, its Example that after them.
func (t *Table) SetHelp(c *cobra.Command) {
	c.Flags().AddFlagSet(t.FlagSet(c.Name()))
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		out := c.OutOrStdout()
		columns := Width(out)
		text := fit(c.Long, columns) + "\n" + t.Usage(columns) +
			otherFlags(c, t).FlagUsagesWrapped(columns)
		if c.Example != "" {
			text += "\nExamples:\n" + c.Example + "\n"
		}
		_, _ = io.WriteString(out, text)
	})
}
