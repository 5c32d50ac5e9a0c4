package ethdev

/*
#include "guard.h"
*/
import "C"

// Guard protects a queue whose memory another process shares from the removal of that memory. A
// burst that finds the guard shut moves nothing.
type Guard C.struct_gr_guard

// NewGuard returns an open guard.
func NewGuard() *Guard { return (*Guard)(C.gr_guard_new()) }

// Shut waits until no burst is in progress, and keeps bursts from moving frames until Open.
func (g *Guard) Shut() { C.gr_guard_shut((*C.struct_gr_guard)(g)) }

// Open ends Shut.
func (g *Guard) Open() { C.gr_leave((*C.struct_gr_guard)(g)) }

// Free releases the guard. Its queue must not be in use.
func (g *Guard) Free() { C.gr_guard_free((*C.struct_gr_guard)(g)) }
