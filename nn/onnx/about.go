package onnx

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/protowire"
	"github.com/gofleet/gofleet/nn/serve"
)

// hashed is a position of a feed whose id the caller computes from a text: the CRC-32 (IEEE) of "field:text", modulo
// height.
type hashed struct {
	Feed    string `json:"feed"`
	At      int    `json:"at"`     // the first position in an example
	Places  int    `json:"places"` // number of the field's positions; 0 is any number
	Field   string `json:"field"`
	Height  int64  `json:"height"`
	Numbers bool   `json:"numbers,omitempty"` // a text that is a number is hashed by its value: "3" for 3.0
	// Separator separates the texts of one field, each of which is hashed.
	Separator string `json:"separator,omitempty"`
	// Examples are texts with their ids, to test a caller's function.
	Examples map[string]int64 `json:"examples"`
}

// samples are texts of a field on which a wrong hash function would show: an empty one, a plain one, which is the
// field's name, and one with a letter of several bytes.
func samples(field string) []string { return []string{"", field, "Zürich"} }

// hashes lists the inputs that the caller hashes.
func hashes(f dataset.Format, inputs []input) (all []hashed) {
	add := func(feed string, at, places int, field string, height int64, numbers bool, separator string) {
		if !slices.ContainsFunc(inputs, func(in input) bool { return in.name == value(feed) }) {
			return
		}
		h := hashed{feed, at, places, field, height, numbers, separator, map[string]int64{}}
		for _, text := range samples(field) {
			h.Examples[text] = dataset.HashID(field, text, height)
		}
		all = append(all, h)
	}
	var schema []dataset.CSVColumn
	switch f := f.(type) {
	case dataset.Criteo:
		height := f.Height
		if height == 0 {
			height = 1_000_001
		}
		for i := range 26 {
			add("C", i, 1, fmt.Sprint(i), height, false, "")
		}
	case dataset.CSV:
		schema = f.Schema
	case dataset.JSONLines:
		schema = f.Schema
	}
	for _, c := range schema {
		fields := c.Fields
		if fields == nil {
			fields = []string{c.Name}
		}
		places := 0
		if !c.Varying {
			places = c.Width() / len(fields)
		}
		for i, field := range fields {
			if c.Hash > 0 {
				add(c.Name, i*places, places, field, c.Hash, c.HashNumbers, c.Separator)
			}
		}
	}
	return all
}

// describe returns the description of the file, as fields of a ModelProto.
func describe(m *serve.Model, b *builder) (about protowire.Message, err error) {
	doc := []string{"A model of gofleet: inputs, outputs and weights have its names, and N is the number of examples."}
	for _, in := range b.inputs {
		if slot, is := strings.CutSuffix(string(in.name), offsets); is {
			doc = append(doc, fmt.Sprintf("Example i has the elements of %s from %s[i] up to %[2]s[i+1]; there are "+
				"N+1 of these.", slot, in.name))
		}
	}
	if m.Version() != "" {
		about.Message(14, entry("gofleet.version", m.Version()))
	}
	if f, err := m.Format(); err == nil {
		rows, err := dataset.DescribeFormat(f)
		if err != nil {
			return nil, err
		}
		about.Message(14, entry("gofleet.rows", string(rows)))
		doc = append(doc, "gofleet.rows in the metadata is the format of the rows that it was trained on: the caller "+
			"reads rows so, with the same fields made of others, scaling of numbers and numbers for what is missing.")
		if all := hashes(f, b.inputs); len(all) > 0 {
			text, err := json.Marshal(all)
			if err != nil {
				return nil, err
			}
			about.Message(14, entry("gofleet.hashes", string(text)))
			doc = append(doc, "gofleet.hashes lists the ids that the caller makes of texts: crc32(field + \":\" + "+
				"text) modulo height, the text in UTF-8, with examples for a test.")
		}
	}
	about.String(6, strings.Join(doc, "\n"))
	return about, nil
}
