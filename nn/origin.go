package nn

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// origin is where a program called this package: program counters, which become a file and a line when an error is
// told.
type origin []uintptr

// here is the origin of the call of this package that is under way.
func here() origin {
	var calls [16]uintptr // more than lie between a program and the node that is made for it
	return slices.Clone(origin(calls[:runtime.Callers(2, calls[:])]))
}

// String is the file and line for an error, after a blank; "" where no line of the program made a node, as in a loaded
// model.
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
