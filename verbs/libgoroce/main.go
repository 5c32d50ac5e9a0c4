// Libgoroce is the engine as a C library, which libibverbs.so.1 loads into a program that runs
// without a daemon.
package main

// #include <string.h>
import "C"

import (
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/goroce/goroce/verbs/engine"
	"github.com/goroce/goroce/verbs/settings"
)

// process is the engine of this process, opened when first needed.
var process struct {
	sync.Mutex
	engine *engine.Engine
}

// goroce_connect starts a session and returns the program's end of its socket, or -1 with a
// message. A call without room for a message only starts the runtime.
//
//export goroce_connect
func goroce_connect(message *C.char, size C.int) C.int {
	if size == 0 {
		return -1
	}
	fd, err := connect()
	if err != nil {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(message)), int(size)-1), err.Error())
		return -1
	}
	return C.int(fd)
}

func connect() (int, error) {
	process.Lock()
	defer process.Unlock()
	if process.engine == nil {
		s := settings.FromEnvironment(os.Getenv)
		e, err := engine.OpenSettings(s)
		if err != nil {
			return -1, err
		}
		if s.Watch != "" {
			e.Watch(os.Stderr, time.Second)
		}
		process.engine = e
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("socketpair: %w", err)
	}
	if err := process.engine.Serve(pair[1], engine.Local{}); err != nil {
		_ = unix.Close(pair[0])
		_ = unix.Close(pair[1])
		return -1, err
	}
	return pair[0], nil
}

// goroce_close closes the port. The program is about to end.
//
//export goroce_close
func goroce_close() {
	process.Lock()
	defer process.Unlock()
	if process.engine != nil {
		process.engine.Linger()
		_ = process.engine.Close()
	}
	process.engine = nil
}

func main() {}
