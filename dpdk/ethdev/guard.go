package ethdev

/*
#include "guard.h"
*/
import "C"

// Guard stands between a queue whose memory another process shares and those who take that memory
// away. A burst that finds it shut moves nothing.
type Guard C.struct_gr_guard

// NewGuard makes an open guard.
func NewGuard() *Guard { return (*Guard)(C.gr_guard_new()) }

// Shut waits until the queue is outside, and keeps it there until Open.
func (g *Guard) Shut() { C.gr_guard_shut((*C.struct_gr_guard)(g)) }

// Open lets the queue in again.
func (g *Guard) Open() { C.gr_leave((*C.struct_gr_guard)(g)) }

// Free forgets the guard. Its queue must be at rest.
func (g *Guard) Free() { C.gr_guard_free((*C.struct_gr_guard)(g)) }
