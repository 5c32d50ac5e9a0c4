package hugepage

import "syscall"

// The numbers of madvise(2) that package syscall lacks.
const (
	madvHugepage = 14
	madvCollapse = 25 // since Linux 6.1
)

// Advise asks for huge pages under the size bytes at addr, and whatever shares a huge page with
// them. The kernel may have none, or know no such advice: then nothing changes.
func Advise(addr, size uintptr) {
	from := addr &^ (pageSize - 1)
	size = (addr + size - from + pageSize - 1) &^ (pageSize - 1)
	for _, advice := range []uintptr{madvHugepage, madvCollapse} {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, size, advice)
	}
}
