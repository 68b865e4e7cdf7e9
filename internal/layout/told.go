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
func told(v any) string {
	var b strings.Builder
	tellHeld(&b, reflect.ValueOf(v))
	return b.String()
}

// tellHeld tells what an interface holds.
func tellHeld(b *strings.Builder, v reflect.Value) {
	if !v.IsValid() {
		b.WriteString("<nil>")
		return
	}
	b.WriteString(v.Type().String())
	tell(b, v)
}

func tell(b *strings.Builder, v reflect.Value) {
	kind := v.Kind()
	switch {
	case kind == reflect.Interface:
		tellHeld(b, v.Elem())
	case printsItself(v):
		fmt.Fprintf(b, "%+v", v)
	case kind == reflect.Struct:
		fields := fieldsThatTell(v)
		tellList(b, "{}", len(fields), func(i int) {
			b.WriteString(v.Type().Field(fields[i]).Name + ":")
			tell(b, v.Field(fields[i]))
		})
	case kind == reflect.Slice || kind == reflect.Array:
		tellList(b, "[]", v.Len(), func(i int) { tell(b, v.Index(i)) })
	case kind == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
		tellList(b, "[]", len(keys), func(i int) {
			tell(b, keys[i])
			b.WriteByte(':')
			tell(b, v.MapIndex(keys[i]))
		})
	case kind == reflect.String:
		fmt.Fprintf(b, "%q", v)
	default:
		fmt.Fprintf(b, "%+v", v)
	}
}

// tellList tells n things in brackets, with spaces between.
func tellList(b *strings.Builder, brackets string, n int, each func(i int)) {
	b.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		each(i)
	}
	b.WriteByte(brackets[1])
}

// fieldsThatTell are the numbers of a struct's fields that are not zero; a list without elements is zero too.
func fieldsThatTell(v reflect.Value) (numbers []int) {
	for i := range v.NumField() {
		f := v.Field(i)
		if kind := f.Kind(); f.IsZero() || (kind == reflect.Slice || kind == reflect.Map) && f.Len() == 0 {
			continue
		}
		numbers = append(numbers, i)
	}
	return numbers
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
