package eal

/*
#cgo pkg-config: libdpdk
#include <stdlib.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include "log.h"

static int last_errno(void) { return rte_errno; }
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// ErrStarted is returned if EAL has been started before, with whatever arguments.
var ErrStarted = errors.New("eal: already started in this process")

// ErrNotStarted is returned if EAL has not been started yet.
var ErrNotStarted = errors.New("eal: not started")

var (
	initLock sync.Mutex // held by one Init at a time
	refused  error      // EAL's error for the first Init; guarded by initLock
	started  atomic.Bool
	hugepage atomic.Bool
)

// Started reports whether EAL runs.
func Started() bool { return started.Load() }

// HasHugepages reports whether EAL's memory is in hugepages.
func HasHugepages() bool { return hugepage.Load() }

// InitWith starts EAL with c, once per process: a second call returns ErrStarted.
func InitWith(c Config) error {
	args, err := c.Args(ThisMachine())
	if err != nil {
		return err
	}
	return Init(args)
}

// Init starts EAL with exactly these arguments, which do not include the program name. If EAL
// refuses them, the error contains EAL's message. EAL keeps half of the state of a failed start, so
// every further Init returns the same error; after an ErrArgs a corrected Init is possible.
func Init(args []string) error {
	if err := checkArgs(args); err != nil {
		return err
	}
	initLock.Lock()
	defer initLock.Unlock()
	if started.Load() {
		return ErrStarted
	}
	if refused != nil {
		return fmt.Errorf("an earlier start failed, and EAL takes one per process: %w", refused)
	}
	refused = Call("eal: start", func() error {
		if rc := C.gr_log_open(); rc != 0 {
			return fmt.Errorf("log stream: %w", Errno(int(rc)))
		}
		// argv stays allocated: EAL keeps pointers into it.
		argv := (**C.char)(C.calloc(C.size_t(len(args)+2), C.size_t(pointerSize)))
		words := cStrings(argv, len(args)+1)
		words[0] = C.CString(os.Args[0])
		for i, arg := range args {
			words[i+1] = C.CString(arg)
		}
		err := CloseOnExec(func() error {
			if rc := C.gr_eal_init(C.int(len(args)+1), argv); rc < 0 {
				return syscall.Errno(C.last_errno())
			}
			return nil
		})
		if err != nil {
			return err
		}
		hugepage.Store(C.rte_eal_has_hugepages() != 0)
		started.Store(true)
		return nil
	})
	return refused
}

// Errno turns a C return value into an error: negative values are errors, and -1 means that the
// error is in this thread's rte_errno. It must run inside the Call that got the value.
func Errno(rc int) error {
	switch {
	case rc >= 0:
		return nil
	case rc == -1:
		if e := syscall.Errno(C.last_errno()); e > 0 {
			return e
		}
		return errors.New("failed")
	}
	return syscall.Errno(-rc)
}
