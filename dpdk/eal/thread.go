package eal

/*
#define _GNU_SOURCE
#include <sched.h>
#include <pthread.h>
#include <rte_lcore.h>
#include <rte_errno.h>

static int pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return -pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void get_mask(cpu_set_t *set) { pthread_getaffinity_np(pthread_self(), sizeof *set, set); }
static void set_mask(cpu_set_t *set) { pthread_setaffinity_np(pthread_self(), sizeof *set, set); }
static unsigned lcore(void) { return rte_lcore_id(); }
*/
import "C"

import (
	"fmt"
	"runtime"
	"syscall"
)

// AnyCPU makes Register not pin the thread.
const AnyCPU = -1

// Thread is an OS thread registered with EAL: it has an lcore id, and so a cache in every mempool.
type Thread struct {
	mask   C.cpu_set_t // affinity to restore
	pinned bool
}

// Register locks the calling goroutine to its OS thread, pins that to cpu unless it is AnyCPU, and
// registers it with EAL. It should run before the goroutine polls a port: without it, each Alloc
// and Free uses the ring that all threads share.
func Register(cpu int) (*Thread, error) {
	if !Started() {
		return nil, fmt.Errorf("eal: register thread: %w", ErrNotStarted)
	}
	if cpu != AnyCPU && (cpu < 0 || cpu >= C.CPU_SETSIZE) {
		return nil, fmt.Errorf("eal: register thread: no CPU %d", cpu)
	}
	runtime.LockOSThread()
	t := &Thread{}
	if cpu != AnyCPU {
		C.get_mask(&t.mask)
		if rc := C.pin(C.int(cpu)); rc != 0 {
			runtime.UnlockOSThread()
			return nil, fmt.Errorf("eal: pin thread to CPU %d: %w; "+
				"want a CPU that this process may use", cpu, syscall.Errno(-rc))
		}
		t.pinned = true
	}
	if rc, errno := C.rte_thread_register(); rc != 0 {
		t.unpin()
		return nil, fmt.Errorf("eal: register thread: %w: all %d lcore ids may be taken",
			errno, int(C.RTE_MAX_LCORE))
	}
	return t, nil
}

// LCore returns the id that EAL gave the thread.
func (t *Thread) LCore() int { return int(C.lcore()) }

// Unregister undoes Register. It must run on the goroutine that registered.
func (t *Thread) Unregister() {
	C.rte_thread_unregister()
	t.unpin()
}

func (t *Thread) unpin() {
	if t.pinned {
		C.set_mask(&t.mask)
	}
	runtime.UnlockOSThread()
}
