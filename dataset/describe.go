package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
)

// formats are the formats that a description can name. Names are frozen: saved models have them.
var formats = formatNames{of: map[string]reflect.Type{
	"criteo":     reflect.TypeFor[Criteo](),
	"csv":        reflect.TypeFor[CSV](),
	"json_lines": reflect.TypeFor[JSONLines](),
	"libsvm":     reflect.TypeFor[LibSVM](),
	"multi_slot": reflect.TypeFor[MultiSlot](),
	"slot_text":  reflect.TypeFor[SlotText](),
}}

// formatNames are types of formats by name.
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

// named is the type that a name stands for, nil if none.
func (f *formatNames) named(name string) reflect.Type {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.of[name]
}

// nameOf is the name that stands for a type, empty if none.
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
	// IDs is the rule by which Hash makes ids, of formats that have it; 0 is that of earlier versions.
	IDs int `json:"ids,omitempty"`
}

// idsRule is that of this version: ids are of the texts of lines, as ever, and Parquet makes the same. Before it hashed
// unsigned integers from half their range on as negative ones, and floating point numbers without a word of how lines
// write them.
const idsRule = 1

// rule is idsRule where a format hashes what Parquet files may have too.
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

// toldRules has descriptions of which a line of the log has told that they are of an earlier rule.
var toldRules sync.Map

// checkRule refuses a rule that is not known, and logs one of earlier versions, once.
func (d *description) checkRule(f Format, data []byte) error {
	now := rule(f)
	if d.IDs > idsRule {
		return fmt.Errorf("%w %q: its ids are made by rule %d, and this version knows %d: a newer version of gofleet "+
			"has described it",
			ErrFormat, d.Name, d.IDs, idsRule)
	}
	if _, told := toldRules.LoadOrStore(string(data), true); d.IDs < now && !told {
		slog.Warn("dataset: the format of an earlier version hashes lines as ever; but if Parquet files trained the "+
			"model, their unsigned integers from half the range on and their floating point numbers had other ids "+
			"than lines have: train it again then",
			"format", d.Name)
	}
	return nil
}

// DescribeFormat writes a format with all its options as JSON, from which [ReadFormat] makes an equivalent format. Your
// own type needs a name first ([RegisterFormat]); all of its options must be in exported fields, without functions.
func DescribeFormat(f Format) ([]byte, error) {
	if f == nil {
		return nil, fmt.Errorf("%w: there is none to describe", ErrFormat)
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

// optionsOf are the options of a format as JSON, nil if all are zero.
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

// sameAgain refuses a format of which its description does not make the same again: what is lacking would go unseen.
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
		f = v.Interface().(Format) // its methods are the pointer's
	}
	if _, err := f.Columns(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w %q", ErrFormat, d.Name), err)
	}
	return f, d.checkRule(f, data)
}
