package perftest

import (
	"fmt"
	"strings"
)

// what describes the test in a line.
func (t Test) what() string {
	return fmt.Sprintf("%s measures the %s of %s over a DPDK port", t.Name(),
		[...]string{"bandwidth and message rate", "latency"}[t.Kind],
		[...]string{"RDMA WRITE", "RDMA READ", "SEND", "RDMA atomics"}[t.Verb])
}

// synopsis is the text of the help before the flags.
func (t Test) synopsis() string {
	name, b := t.Name(), new(strings.Builder)
	fmt.Fprintf(b, "%s,\nas perftest's %s does.\n\n", t.what(),
		strings.Replace(name, "roce", "ib", 1))
	fmt.Fprintf(b, "  %-36s both ends in this process, over loop:\n", name+" [flags]")
	fmt.Fprintf(b, "  %-36s the server: waits for one client\n", name+" -d URL [flags]")
	fmt.Fprintf(b, "  %-36s the client", name+" -d URL [flags] HOST")
	return b.String()
}

func (t Test) examples() string {
	size := "-s 4096 "
	if t.Verb == Atomic {
		size = ""
	}
	return fmt.Sprintf("  %[1]s %[2]s-n 100000\n  %[1]s -d memif:/tmp/m.sock &\n"+
		"  %[1]s -d memif:/tmp/m.sock,client localhost", t.Name(), size)
}
