package trial

import (
	"maps"
	"reflect"
	"slices"
	"testing"
)

// Covers fails the test unless there is exactly one case for each exported field of a struct.
func Covers[C any](t testing.TB, typ reflect.Type, cases map[string]C) {
	t.Helper()
	fields := Leaves(typ)
	for name := range fields {
		if _, ok := cases[name]; !ok {
			t.Errorf("nothing shows what %v.%s does", typ, name)
		}
	}
	for name := range cases {
		if fields[name] == nil {
			t.Errorf("%v has no %s", typ, name)
		}
	}
}

// Leaves returns the indices of a struct's fields by name; fields of nested structs are named "Outer.Inner".
func Leaves(typ reflect.Type) map[string][]int { return leaves(typ, "", nil) }

func leaves(typ reflect.Type, prefix string, index []int) map[string][]int {
	all := map[string][]int{}
	for i := range typ.NumField() {
		f, at := typ.Field(i), append(slices.Clone(index), i)
		if f.Type.Kind() == reflect.Struct {
			maps.Copy(all, leaves(f.Type, prefix+f.Name+".", at))
		} else if f.IsExported() {
			all[prefix+f.Name] = at
		}
	}
	return all
}
