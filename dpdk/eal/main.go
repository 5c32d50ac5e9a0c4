package eal

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
)

// mainThread is the goroutine that Calls run on. The first Call starts it, and it never ends.
var mainThread = sync.OnceValue(func() chan<- func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for fn := range calls {
			fn()
		}
	}()
	return calls
})

// Call runs a control operation on the main thread, one at a time, and waits for it. The error of a
// failed fn contains op and the log of EAL and the drivers meanwhile. fn must not use Call.
func Call(what string, fn func() error) error {
	done := make(chan error)
	mainThread() <- func() {
		clearLog()
		err := fn()
		if err != nil {
			err = explain(what, err)
		}
		done <- err
	}
	return <-done
}

// explain joins an error with the most severe of the lines that were logged.
func explain(what string, err error) error {
	var reason string
	for level := logError; level <= logNotice && reason == ""; level++ {
		reason = tidy(readLog(level))
	}
	if reason == "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w (%s)", what, err, reason)
}

// tidy joins the lines of a log, without repetitions and without the indented usage text.
func tidy(log string) string {
	var lines []string
	seen := map[string]bool{}
	for line := range strings.Lines(log) {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		line = strings.TrimSpace(line)
		line = strings.TrimPrefix(line, "EAL: ")
		line = strings.TrimPrefix(line, "FATAL: ")
		if line == "" || indented || seen[line] {
			continue
		}
		seen[line] = true
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}
