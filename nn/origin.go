package nn

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// origin is the place where a program called this package: program counters, which become a file and a line when an
// error is printed.
type origin []uintptr

// here returns the origin of the present call of this package.
func here() origin {
	var calls [16]uintptr // more than there are between a program and the node's creation
	return slices.Clone(origin(calls[:runtime.Callers(2, calls[:])]))
}

// String returns the file and line for an error, after a blank; "" if no line of the program made the node, as in a
// loaded model.
func (o origin) String() string {
	frames := runtime.CallersFrames(o)
	for more := len(o) > 0; more; {
		var f runtime.Frame
		if f, more = frames.Next(); !strings.HasPrefix(f.Function, packagePath) ||
			strings.HasSuffix(f.File, "_test.go") {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
	}
	return ""
}

// packagePath begins the names of this package's functions.
var packagePath = reflect.TypeFor[origin]().PkgPath() + "."
