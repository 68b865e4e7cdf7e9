// Package panics turns a panic of a program's own code into an error.
package panics

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Error is the error for value v, which the calling deferred function has recovered: who panicked, with what, and the
// function and line at which the panic began.
func Error(who string, v any) error {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	f, more := frames.Next()
	for more && f.Function != "runtime.gopanic" {
		f, more = frames.Next()
	}
	for more && strings.HasPrefix(f.Function, "runtime.") {
		f, more = frames.Next()
	}
	return fmt.Errorf("%s panicked: %v (%s, %s:%d)", who, v, f.Function, filepath.Base(f.File), f.Line)
}
