package perftest

import (
	"fmt"
	"io"
	"strings"
)

// helpWidth is the width of the flags' descriptions.
const helpWidth = 110

// help prints the help of a test.
func help(w io.Writer, t Test) {
	name := t.Name()
	s := defaults(t)
	what := [...]string{"bandwidth and message rate", "latency"}[t.Kind]
	fmt.Fprintf(w, "%s measures the %s of %s over a DPDK port,\nas perftest's %s does.\n\n", name,
		what,
		[...]string{"RDMA WRITE", "RDMA READ", "SEND", "RDMA atomics"}[t.Verb],
		strings.Replace(name, "roce", "ib", 1))
	fmt.Fprintf(w, "  %-36s both ends in this process, over loop:\n", name+" [flags]")
	fmt.Fprintf(w, "  %-36s the server: waits for one client\n", name+" -d URL [flags]")
	fmt.Fprintf(w, "  %-36s the client\n", name+" -d URL [flags] HOST")
	fmt.Fprint(w, s.table(&extras{}).Usage(helpWidth))
	size := "-s 4096 "
	if t.Verb == Atomic {
		size = ""
	}
	fmt.Fprintf(w, "\nExamples:\n  %s %s-n 100000\n"+
		"  %s -d memif:/tmp/m.sock & %s -d memif:/tmp/m.sock,client localhost\n", name, size, name,
		name)
}
