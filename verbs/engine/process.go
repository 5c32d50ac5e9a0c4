package engine

import (
	"fmt"
	"math"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/transport"
)

// Process is the Memory of another process, through the descriptor of /proc/self/mem that it
// has opened and sent. The descriptor names an address space rather than a process ID, which may be
// reused, and needs no right of ptrace(2): the program has opened what is its own. An access
// copies, and fails where the program has no memory. It ignores that a page is read-only.
type Process struct{ fd int }

// newProcess checks that a descriptor is one of process memory: any other file might block.
func newProcess(fd int) (*Process, error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return nil, fmt.Errorf("descriptor of memory: %w", err)
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return nil, fmt.Errorf("descriptor of memory: %w", err)
	}
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return nil, fmt.Errorf("descriptor of memory: %w", err)
	}
	if fs.Type != unix.PROC_SUPER_MAGIC || path.Base(name) != "mem" ||
		flags&unix.O_ACCMODE != unix.O_RDWR {
		return nil, fmt.Errorf("descriptor of %q, want /proc/self/mem for reading and writing: %w",
			name, transport.ErrInvalid)
	}
	return &Process{fd}, nil
}

// Map implements Memory. The program has made its pages present; whether they are there, the
// accesses will show.
func (p *Process) Map(addr, n uint64, _ bool) (m mapping, err error) {
	if addr > math.MaxInt64 || n > math.MaxInt64-addr || addr == 0 && n > 0 {
		return m, unix.EFAULT
	}
	return mapping{foreign: &foreignRange{p, addr, n}}, nil
}

// foreignRange is a range of addresses of a process. It implements endpoint.ForeignMemory.
type foreignRange struct {
	process    *Process
	addr, size uint64
}

// Size implements endpoint.ForeignMemory.
func (r *foreignRange) Size() uint64 { return r.size }

// Read implements endpoint.ForeignMemory.
func (r *foreignRange) Read(b []byte, offset uint64) bool {
	n, err := unix.Pread(r.process.fd, b, int64(r.addr+offset))
	return err == nil && n == len(b)
}

// Write implements endpoint.ForeignMemory.
func (r *foreignRange) Write(b []byte, offset uint64) bool {
	n, err := unix.Pwrite(r.process.fd, b, int64(r.addr+offset))
	return err == nil && n == len(b)
}

func (p *Process) close() { _ = unix.Close(p.fd) }

// shareMemory takes the descriptor of the program's memory.
func (s *Session) shareMemory(_ *transport.Endpoint, body []byte, fds []int) (answer, error) {
	if s.memory != nil || len(body) != 0 || len(fds) != 1 {
		return answer{}, fmt.Errorf("memory with %d descriptors, want 1 of a daemon's program: %w",
			len(fds), transport.ErrInvalid)
	}
	p, err := newProcess(fds[0])
	if err != nil {
		return answer{}, err
	}
	s.memory, s.process, fds[0] = p, p, -1
	return answer{}, nil
}
