package layout

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// described is a rule, an initializer or another setting as a fingerprint has it: its type and, by name, its fields
// that are not zero, so that a field which a later version adds says nothing where it is left at zero. What an
// interface in it holds is described with its type: ExponentialDecay and NaturalExpDecay have the same fields. What a
// pointer points to is described where it is, and a function is its name, since addresses differ between processes. A
// type with a String method describes itself.
func described(v any) string { return new(describer).withType(reflect.ValueOf(v)) }

// describer has the pointers that it is behind, since one may lead back to itself.
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

// pointer is what lies behind one, or how many pointers back the same has begun.
func (d *describer) pointer(v reflect.Value) string {
	at := v.Pointer()
	if back := slices.Index(d.behind, at); back >= 0 {
		return fmt.Sprint("&-", len(d.behind)-back)
	}
	d.behind = append(d.behind, at)
	defer func() { d.behind = d.behind[:len(d.behind)-1] }()
	return "&" + d.value(v.Elem())
}

// isZero says whether a field is not set; a list without elements is not.
func isZero(v reflect.Value) bool {
	return v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

// printsItself says whether fmt asks v for its printed form.
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
