// Package ccall calls short C functions of the packet path without informing Go's scheduler.
//
// A cgo call informs the scheduler before and after, which takes some 30 ns. In between, the
// scheduler's monitor thread finds the polling goroutine in a system call: it takes its processor
// away and wakes other threads, some 1,100 times a second, and the goroutine waits to get a
// processor back.
//
// A function called by this package runs on the system stack of the thread, as far as the scheduler
// knows as a part of the goroutine. It must return within microseconds and must neither block nor
// call Go: until it returns, the goroutine cannot be preempted, and a garbage collection waits for
// it.
//
// This is the runtime's own asmcgocall, which the linker of these Go versions gives to others. With
// other versions, the race detector, a sanitizer or the tag goroce_cgo, Call is a cgo call.
package ccall
