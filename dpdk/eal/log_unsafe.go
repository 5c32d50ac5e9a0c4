package eal

/*
#include <rte_log.h>
#include "log.h"
*/
import "C"

import "unsafe"

const pointerSize = unsafe.Sizeof(uintptr(0))

// The levels of the log, most serious first.
const (
	logError  = uint(C.RTE_LOG_ERR)
	logNotice = uint(C.RTE_LOG_NOTICE)
)

func clearLog() { C.gr_log_clear() }

// readLog returns what was logged at level or more severe since clearLog.
func readLog(level uint) string {
	text := make([]byte, 32*1024)
	n := C.gr_log_read(C.uint(level), (*C.char)(unsafe.Pointer(&text[0])), C.size_t(len(text)))
	return string(text[:n])
}

func cStrings(array **C.char, n int) []*C.char { return unsafe.Slice(array, n) }
