package eal

import (
	"os"
	"strconv"
	"syscall"
)

// CloseOnExec runs fn and prevents that a descriptor which DPDK opens meanwhile, without the flag
// that Go sets on its own, is inherited by a child process: the child would hold EAL's memory or a
// raw socket. No child starts while fn runs. EAL's interrupt thread may open an epoll descriptor
// whenever its sources change; epoll.c sets the flag of that one.
func CloseOnExec(fn func() error) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	before := descriptors()
	err := fn()
	for fd := range descriptors() {
		if !before[fd] {
			syscall.CloseOnExec(fd)
		}
	}
	return err
}

// descriptors returns the open descriptors; none where /proc is not mounted.
func descriptors() map[int]bool {
	entries, _ := os.ReadDir("/proc/self/fd")
	open := make(map[int]bool, len(entries))
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil {
			open[fd] = true
		}
	}
	return open
}
