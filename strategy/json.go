package strategy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/files"
)

// fields are the names that a strategy has in JSON, in the struct's order.
func fields() []string {
	t := reflect.TypeFor[Strategy]()
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return names
}

// UnmarshalJSON implements [json.Unmarshaler]. Fields that are missing in data keep their values, so that a file can
// amend a preset. Unknown fields are an error. PaddlePaddle's a_sync and a_sync_configs are understood, as described at
// [FromASync] of package fleet/paddle.
func (s *Strategy) UnmarshalJSON(data []byte) error {
	var found map[string]json.RawMessage
	if err := json.Unmarshal(data, &found); err != nil {
		return fmt.Errorf("strategy: not a JSON object: %w", err)
	}
	found, err := translate(found)
	if err != nil {
		return err
	}
	if err := checkFields(found); err != nil {
		return err
	}
	amended := *s
	for _, name := range fields() {
		if value, ok := found[name]; ok {
			if err := amended.setField(name, value); err != nil {
				return err
			}
		}
	}
	*s = amended
	return nil
}

// setField decodes one field by itself, so that an error can name it.
func (s *Strategy) setField(name string, value json.RawMessage) error {
	object, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return fmt.Errorf("strategy: %s: %w", name, err)
	}
	type plain Strategy // has no UnmarshalJSON
	if err := json.Unmarshal(object, (*plain)(s)); err != nil {
		return explain(name, value, err)
	}
	return nil
}

func checkFields(found map[string]json.RawMessage) error {
	known := fields()
	var unknown []string
	for name := range found {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("strategy: unknown field %s; want %s", describe(unknown), strings.Join(known, ", "))
}

// describe names unknown fields, with a hint where the original has one of that name.
func describe(unknown []string) string {
	for i, name := range unknown {
		unknown[i] = fmt.Sprintf("%q", name)
		if h := hint(name); h != "" {
			unknown[i] += " (" + h + ")"
		}
	}
	return strings.Join(unknown, ", ")
}

// explain names the field, its value and what was expected.
func explain(name string, value json.RawMessage, err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok: // Duration's own error has the rest
		return fmt.Errorf("strategy: %s: %w", name, err)
	case wrong.Type == reflect.TypeFor[Duration]():
		return fmt.Errorf(`strategy: %s is %s; write a duration as a string, like "30s"`, name, value)
	}
	return fmt.Errorf("strategy: %s is %s; it must be of type %v", name, value, wrong.Type.Kind())
}

// String returns the strategy with its defaults as one line of JSON. Equal strings mean equal strategies.
func (s Strategy) String() string {
	line, err := json.Marshal(s.WithDefaults())
	if err != nil {
		return err.Error() // not reached: every field can be marshalled
	}
	return string(line)
}

// Lines returns the strategy with its defaults, a line for each field: "strategy: mode is \"sync\"". Equal lines mean
// equal strategies.
func (s Strategy) Lines() []string {
	v := reflect.ValueOf(s.WithDefaults())
	lines := make([]string, v.NumField())
	for i, name := range fields() {
		value, err := json.Marshal(v.Field(i).Interface())
		if err != nil {
			value = []byte(err.Error()) // not reached, as in String
		}
		lines[i] = fmt.Sprintf("strategy: %s is %s", name, value)
	}
	return lines
}

// Read reads a strategy from one JSON object and validates it.
func Read(r io.Reader) (Strategy, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return Strategy{}, fmt.Errorf("strategy: %w", err)
	}
	var s Strategy
	if err := decode(data, &s); err != nil {
		return Strategy{}, err
	}
	return s, s.Validate()
}

// decode keeps the package's own errors as they are and gives the others its name.
func decode(data []byte, s *Strategy) error {
	err := json.Unmarshal(data, s)
	if err == nil || strings.HasPrefix(err.Error(), "strategy: ") {
		return err
	}
	return fmt.Errorf("strategy: %w", err)
}

// Write writes the strategy as indented JSON that Read understands. Zero fields are left out.
func (s Strategy) Write(w io.Writer) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("strategy: %w", err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("strategy: %w", err)
	}
	return nil
}

// Save writes the strategy to the named file, as [Strategy.Write] does.
func (s Strategy) Save(name string) error {
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		return err
	}
	if err := files.CheckLocal(name); err != nil {
		return fmt.Errorf("strategy: %w", err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("strategy: %w", err)
	}
	return nil
}

// Load reads a strategy from the named file, as [Read] does.
func Load(name string) (Strategy, error) {
	if err := files.CheckLocal(name); err != nil {
		return Strategy{}, fmt.Errorf("strategy: %w", err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return Strategy{}, fmt.Errorf("strategy: %w", err)
	}
	s, err := Read(bytes.NewReader(data))
	if err != nil {
		return Strategy{}, fmt.Errorf("%w (in file %s)", err, name)
	}
	return s, nil
}
