package layout

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// described returns a rule, an initializer or another setting as text for a fingerprint: its type and its fields that
// are not zero, by name, so that a field which a later version adds changes nothing while it is zero. The value of an
// interface has its type, since types such as ExponentialDecay and NaturalExpDecay have the same fields. The target of
// a pointer is described in place of the pointer, and a function by its name, since addresses differ between processes.
// A type with a String method describes itself.
func described(v any) string { return new(describer).withType(reflect.ValueOf(v)) }

// describer tracks the pointers that it has followed, since a value may lead back to itself.
type describer struct{ behind []uintptr }

func (d *describer) withType(v reflect.Value) string {
	if !v.IsValid() {
		return "<nil>"
	}
	return v.Type().String() + d.value(v)
}

func (d *describer) value(v reflect.Value) string {
	var parts []string
	switch kind := v.Kind(); {
	case kind == reflect.Interface:
		return d.withType(v.Elem())
	case printsItself(v):
	case kind == reflect.Pointer && !v.IsNil():
		return d.pointer(v)
	case kind == reflect.Func && !v.IsNil():
		return runtime.FuncForPC(v.Pointer()).Name()
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); !isZero(f) {
				parts = append(parts, v.Type().Field(i).Name+":"+d.value(f))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	case kind == reflect.Slice || kind == reflect.Array:
		for i := range v.Len() {
			parts = append(parts, d.value(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case kind == reflect.Map:
		for _, key := range v.MapKeys() {
			parts = append(parts, d.value(key)+":"+d.value(v.MapIndex(key)))
		}
		slices.Sort(parts)
		return "[" + strings.Join(parts, " ") + "]"
	case kind == reflect.String:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%+v", v)
}

// pointer describes a pointer's target, or, if it is being described already, how many pointers back that began.
func (d *describer) pointer(v reflect.Value) string {
	at := v.Pointer()
	if back := slices.Index(d.behind, at); back >= 0 {
		return fmt.Sprint("&-", len(d.behind)-back)
	}
	d.behind = append(d.behind, at)
	defer func() { d.behind = d.behind[:len(d.behind)-1] }()
	return "&" + d.value(v.Elem())
}

// isZero reports whether a field is not set; an empty list counts as not set.
func isZero(v reflect.Value) bool {
	return v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

// printsItself reports whether fmt asks v for its printed form.
func printsItself(v reflect.Value) bool {
	if !v.CanInterface() {
		return false
	}
	switch v.Interface().(type) {
	case fmt.Formatter, fmt.Stringer, error:
		return true
	}
	return false
}
