package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manualCommand is the hidden command of every program that writes its manual pages to a directory,
// for make install.
const manualCommand = "__man"

func writeManual(root *cobra.Command, dir string) error {
	root.DisableAutoGenTag = true // pages do not change from day to day
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "goroce " + Release,
		Manual: "goroce"}, dir)
}
