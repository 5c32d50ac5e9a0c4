package perftest

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/internal/hugepage"
	"github.com/goroce/goroce/transport"
)

// hugePage is the size of the kernel's default huge pages on the architectures of DPDK.
const hugePage = 2 << 20

// allocate allocates n bytes for the messages of the queue pairs.
func (l *queueSet) allocate(n int) error {
	if !l.settings.HugePages {
		l.memory = hugepage.Make(n)
		return nil
	}
	n = (n + hugePage - 1) / hugePage * hugePage
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB)
	if errors.Is(err, unix.ENOMEM) {
		return fmt.Errorf("--use_hugepages: want %d free huge pages of 2 MiB; as root: sysctl "+
			"vm.nr_hugepages=%[1]d", n/hugePage)
	}
	if err != nil {
		return fmt.Errorf("--use_hugepages: %d bytes: %w", n, err)
	}
	l.memory = mem
	return nil
}

// release frees the memory, when the host is closed.
func (l *queueSet) release() {
	if l.settings.HugePages && l.memory != nil {
		_ = unix.Munmap(l.memory)
		l.memory = nil
	}
}

// streamOf returns the index of the queue pair of a received message. The work request ID has it
// unless the receive came from a shared queue.
func (l *queueSet) streamOf(wc *transport.WorkCompletion) int {
	if l.shared == nil {
		return int(wc.ID >> idShift)
	}
	return l.numbers[wc.QPN]
}
