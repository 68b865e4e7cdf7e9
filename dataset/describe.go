package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
)

// formats are the formats with a name for descriptions. Never change names: saved models contain them.
var formats = formatNames{of: map[string]reflect.Type{
	"criteo":     reflect.TypeFor[Criteo](),
	"csv":        reflect.TypeFor[CSV](),
	"json_lines": reflect.TypeFor[JSONLines](),
	"libsvm":     reflect.TypeFor[LibSVM](),
	"multi_slot": reflect.TypeFor[MultiSlot](),
	"slot_text":  reflect.TypeFor[SlotText](),
}}

// formatNames maps names to types of formats.
type formatNames struct {
	mu sync.RWMutex // guards of
	of map[string]reflect.Type
}

// RegisterFormat gives your own format a name for [DescribeFormat] and [ReadFormat]. Both the program that saves a
// model with it and the program that serves the model must call it, with the same name. The format's options are the
// exported fields of F. It is an error if the name is taken by another type.
func RegisterFormat[F Format](name string) error {
	t := reflect.TypeFor[F]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	formats.mu.Lock()
	defer formats.mu.Unlock()
	if old := formats.of[name]; name == "" || old != nil && old != t {
		return fmt.Errorf("%w: RegisterFormat(%q) of %v: the name is empty, or stands for %v: take another", ErrFormat,
			name, t, old)
	}
	formats.of[name] = t
	return nil
}

// named returns the type with a name, nil if there is none.
func (f *formatNames) named(name string) reflect.Type {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.of[name]
}

// nameOf returns the name of a type, empty if it has none.
func (f *formatNames) nameOf(t reflect.Type) string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(f.of)) {
		if f.of[name] == t {
			return name
		}
	}
	return ""
}

// description is a format as JSON: the name of its type, and its options that are not zero.
type description struct {
	Name    string          `json:"name"`
	Options json.RawMessage `json:"options,omitempty"`
	// IDs is the version of the rule for the ids of Hash, in formats that have Hash, else 0.
	IDs int `json:"ids,omitempty"`
}

// idsRule is the rule of this version: ids are of the texts of lines, and Parquet computes the same ids.
const idsRule = 1

// rule returns idsRule for a format that hashes fields which Parquet files may also have.
func rule(f any) int {
	var schema []CSVColumn
	switch f := f.(type) {
	case CSV:
		schema = f.Schema
	case JSONLines:
		schema = f.Schema
	}
	if slices.ContainsFunc(schema, func(c CSVColumn) bool { return c.Hash > 0 }) {
		return idsRule
	}
	return 0
}

// checkRule returns an error for another rule than this version's.
func (d *description) checkRule(f Format) error {
	if now := rule(f); d.IDs != now {
		return fmt.Errorf("%w %q: its ids are made by rule %d, and this version makes them by rule %d: use the "+
			"version of gofleet that described it, or describe it again", ErrFormat, d.Name, d.IDs, now)
	}
	return nil
}

// DescribeFormat writes a format with all its options as JSON, from which [ReadFormat] makes an equivalent format. Your
// own type needs a name first ([RegisterFormat]); all of its options must be in exported fields, without functions.
func DescribeFormat(f Format) ([]byte, error) {
	if f == nil {
		return nil, fmt.Errorf("%w: it is nil; want a format to describe", ErrFormat)
	}
	v := reflect.Indirect(reflect.ValueOf(f))
	if !v.IsValid() {
		return nil, fmt.Errorf("%w %T is a nil pointer", ErrFormat, f)
	}
	name := formats.nameOf(v.Type())
	if name == "" {
		return nil, fmt.Errorf("%w %v has no name, by which another program would find it: call "+
			"dataset.RegisterFormat[%v] with one, here and where the model is served", ErrFormat, v.Type(), v.Type())
	}
	if _, err := f.Columns(); err != nil {
		return nil, err
	}
	options, err := optionsOf(v)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrFormat, name, err)
	}
	data, err := json.Marshal(description{name, options, rule(v.Interface())})
	if err == nil {
		err = sameAgain(v, data)
	}
	return data, err
}

// optionsOf returns the options of a format as JSON, nil if all are zero.
func optionsOf(v reflect.Value) (json.RawMessage, error) {
	if v.IsZero() {
		return nil, nil
	}
	plain, err := plainOption(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

// sameAgain returns an error if reading the description does not restore the format: a lost option would go unnoticed.
func sameAgain(v reflect.Value, data []byte) error {
	again, err := ReadFormat(data)
	if err == nil && !reflect.DeepEqual(reflect.Indirect(reflect.ValueOf(again)).Interface(), v.Interface()) {
		err = fmt.Errorf("%w %v: fields that are not exported hold something, which no description has: export them",
			ErrFormat, v.Type())
	}
	return err
}

// ReadFormat restores a format from the output of [DescribeFormat].
func ReadFormat(data []byte) (Format, error) {
	var d description
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("%w: its description can't be read: %w", ErrFormat, err)
	}
	t := formats.named(d.Name)
	if t == nil {
		return nil, fmt.Errorf("%w %q is not known here: if it is one of your own, call dataset.RegisterFormat with "+
			"that name first; else a newer version of gofleet has described it", ErrFormat, d.Name)
	}
	v := reflect.New(t)
	if d.Options != nil {
		if err := readOption(v.Elem(), d.Options); err != nil {
			return nil, fmt.Errorf("%w %q: %w", ErrFormat, d.Name, err)
		}
	}
	f, ok := v.Elem().Interface().(Format)
	if !ok {
		f = v.Interface().(Format) // the pointer has the methods
	}
	if _, err := f.Columns(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w %q", ErrFormat, d.Name), err)
	}
	return f, d.checkRule(f)
}
