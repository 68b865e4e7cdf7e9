package layout

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// told is a rule, an initializer or another setting as a fingerprint has it: its type and, by name, its fields that are
// not zero, so that a field which a later version adds says nothing where it is left at zero. What an interface in it
// holds is told with its type: ExponentialDecay and NaturalExpDecay have the same fields. A type with a String method
// tells itself.
func told(v any) string { return toldWithType(reflect.ValueOf(v)) }

func toldWithType(v reflect.Value) string {
	if !v.IsValid() {
		return "<nil>"
	}
	return v.Type().String() + toldValue(v)
}

func toldValue(v reflect.Value) string {
	var parts []string
	switch kind := v.Kind(); {
	case kind == reflect.Interface:
		return toldWithType(v.Elem())
	case printsItself(v):
	case kind == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); !isZero(f) {
				parts = append(parts, v.Type().Field(i).Name+":"+toldValue(f))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	case kind == reflect.Slice || kind == reflect.Array:
		for i := range v.Len() {
			parts = append(parts, toldValue(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case kind == reflect.Map:
		for _, key := range v.MapKeys() {
			parts = append(parts, toldValue(key)+":"+toldValue(v.MapIndex(key)))
		}
		slices.Sort(parts)
		return "[" + strings.Join(parts, " ") + "]"
	case kind == reflect.String:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%+v", v)
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
