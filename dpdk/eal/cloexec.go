package eal

import (
	"os"
	"strconv"
	"syscall"
)

// CloseOnExec runs fn and sees to it that no descriptor which DPDK opens meanwhile, without the
// flag that Go sets on its own, reaches a child process: one that was started would hold EAL's
// memory or a raw socket. No child starts while fn runs. EAL's interrupt thread opens an epoll
// descriptor whenever its sources change, at any time: for that one epoll.c sets the flag.
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

// descriptors returns those that are open; none where /proc is not mounted.
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
