package dataset

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"

	"gorgonia.org/tensor"
)

// Options of formats as JSON: structs become objects of their exported fields that are not zero, by name. encoding/json
// alone is not enough: a method of a column would become the method of the struct that embeds it, and a tensor's type
// has no JSON form of its own.

// types are the types of columns' values, by name.
var types = map[string]tensor.Dtype{"float32": tensor.Float32, "int64": tensor.Int64, "uint64": tensor.Uint64}

var (
	typeOfTypes = reflect.TypeFor[tensor.Dtype]()
	textType    = reflect.TypeFor[encoding.TextMarshaler]()
)

// plainOption converts an option for encoding/json.
func plainOption(v reflect.Value) (any, error) {
	switch {
	case v.Type() == typeOfTypes:
		return v.Interface().(tensor.Dtype).Name(), nil
	case v.Type().Implements(textType):
		return v.Interface(), nil
	case v.Kind() == reflect.String && !utf8.ValidString(v.String()):
		return nil, fmt.Errorf("%q is not UTF-8, and a description is: write names and texts, and the files, as UTF-8",
			v.String())
	}
	switch v.Kind() {
	case reflect.Struct:
		return plainFields(v)
	case reflect.Slice, reflect.Array:
		all := make([]any, v.Len())
		for i := range all {
			var err error
			if all[i], err = plainOption(v.Index(i)); err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return all, nil
	case reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		return plainOption(v.Elem())
	case reflect.Map, reflect.Chan, reflect.Func, reflect.Interface, reflect.UnsafePointer:
		return nil, fmt.Errorf("a %v can't be described", v.Type())
	}
	return v.Interface(), nil
}

func plainFields(v reflect.Value) (map[string]any, error) {
	all := map[string]any{}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() || v.Field(i).IsZero() {
			continue
		}
		plain, err := plainOption(v.Field(i))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field.Name, err)
		}
		all[field.Name] = plain
	}
	return all, nil
}

// readOption sets v to the option that data describes.
func readOption(v reflect.Value, data json.RawMessage) error {
	switch {
	case v.Type() == typeOfTypes:
		return readType(v, data)
	case v.Type().Implements(textType):
		return json.Unmarshal(data, v.Addr().Interface())
	}
	switch v.Kind() {
	case reflect.Struct:
		return readFields(v, data)
	case reflect.Slice, reflect.Array:
		return readList(v, data)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return readOption(v.Elem(), data)
	}
	return json.Unmarshal(data, v.Addr().Interface())
}

func readType(v reflect.Value, data json.RawMessage) error {
	var name string
	if err := json.Unmarshal(data, &name); err != nil {
		return err
	}
	t, ok := types[name]
	if !ok {
		return fmt.Errorf("type %q is not known", name)
	}
	v.Set(reflect.ValueOf(t))
	return nil
}

func readFields(v reflect.Value, data json.RawMessage) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	for name, data := range all {
		field, ok := v.Type().FieldByName(name)
		if !ok || len(field.Index) > 1 || !field.IsExported() {
			return fmt.Errorf("unknown option %s: it may come from a newer version of gofleet, or of the format", name)
		}
		if err := readOption(v.FieldByIndex(field.Index), data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func readList(v reflect.Value, data json.RawMessage) error {
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(all), len(all)))
	} else if len(all) != v.Len() {
		return fmt.Errorf("it has %d values, not %d", v.Len(), len(all))
	}
	for i := range all {
		if err := readOption(v.Index(i), all[i]); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

// denseNames are the names of the scalings in descriptions.
var denseNames = map[CriteoDense]string{MinMax: "min_max", Log1p: "log1p"}

// MarshalText returns the name of the scaling in descriptions of formats.
func (d CriteoDense) MarshalText() ([]byte, error) {
	name, ok := denseNames[d]
	if !ok {
		return nil, fmt.Errorf("%w Criteo.Dense is %d: want MinMax or Log1p", ErrOption, int(d))
	}
	return []byte(name), nil
}

// UnmarshalText sets d from such a name, and returns an error for another.
func (d *CriteoDense) UnmarshalText(text []byte) error {
	for way, name := range denseNames {
		if name == string(text) {
			*d = way
			return nil
		}
	}
	return fmt.Errorf("%w Criteo.Dense is %q: want min_max or log1p", ErrOption, text)
}
