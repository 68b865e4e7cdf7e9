package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// signature is the part of a model's signature.json that is printed.
type signature struct {
	Feeds   []signedValue `json:"feeds"`
	Outputs []signedValue `json:"outputs"`
	Rows    *struct {
		Name    string                     `json:"name"`
		Options map[string]json.RawMessage `json:"options"`
	} `json:"rows"`
}

// signedValue is a feed or an output.
type signedValue struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
}

// signedColumn is a column of the rows' format, with its sources.
type signedColumn struct {
	Column struct {
		Name    string
		Type    string
		Shape   []int
		Varying bool
	}
	Fields, Slots []string
	Hash          int64
	Missing       string
	Separator     string
	Values        []string
}

// showSignature prints the inputs and outputs of a model, and the format of its rows: the name of the format, its
// options, and its columns.
func showSignature(text []byte, line func(name, format string, args ...any)) {
	var s signature
	if err := json.Unmarshal(text, &s); err != nil {
		line("signature", "it can't be read: %v", err)
		return
	}
	for _, v := range s.Feeds {
		line("feed", "%s", v)
	}
	for _, v := range s.Outputs {
		line("output", "%s", v)
	}
	if s.Rows == nil {
		line("rows", "their format was not saved: the model is fed tensors, or JSON")
		return
	}
	said, columns := s.Rows.Name, []signedColumn(nil)
	for _, name := range slices.Sorted(maps.Keys(s.Rows.Options)) {
		value := s.Rows.Options[name]
		if name == "Schema" || name == "Slots" {
			if err := json.Unmarshal(value, &columns); err == nil {
				continue
			}
		}
		said += fmt.Sprintf(", %s %s", name, optionText(name, value))
	}
	line("rows", "%s", said)
	for _, c := range columns {
		line("column", "%s", c)
	}
}

// optionText shows an option of a format; a character is a number in the file.
func optionText(name string, value json.RawMessage) string {
	var character rune
	if slices.Contains([]string{"Comma", "Quote", "Comment"}, name) && json.Unmarshal(value, &character) == nil {
		return fmt.Sprintf("%q", character)
	}
	return string(value)
}

// String is the value in the form of a printed node, [N 13] float32.
func (v signedValue) String() string {
	return fmt.Sprintf("%s %s %s", v.Name, strings.Replace(fmt.Sprint(v.Shape), "[-1", "[N", 1), v.Type)
}

func (c signedColumn) String() string {
	shape := []int{-1, 1}
	if len(c.Column.Shape) > 0 {
		shape = append([]int{-1}, c.Column.Shape...)
	}
	text := signedValue{c.Column.Name, c.Column.Type, shape}.String()
	if c.Column.Varying {
		text = fmt.Sprintf("%s, any number of %s", c.Column.Name, c.Column.Type)
	}
	if from := append(c.Fields, c.Slots...); len(from) > 0 {
		text += ", of " + fewOf(from)
	}
	if c.Separator != "" {
		text += fmt.Sprintf(", parted by %q", c.Separator)
	}
	if len(c.Values) > 0 {
		text += ", numbers of " + fewOf(c.Values)
	}
	if c.Hash > 0 {
		text += fmt.Sprintf(", hashed to %d ids", c.Hash)
	}
	if c.Missing != "" {
		text += ", " + c.Missing + " where missing"
	}
	return text
}

// fewOf names all of a few, or the first and last of many.
func fewOf(names []string) string {
	const few = 6
	if n := len(names); n > few {
		return fmt.Sprintf("%s, %s, … %s, %d in all", names[0], names[1], names[n-1], n)
	}
	return strings.Join(names, ", ")
}
