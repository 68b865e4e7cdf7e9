package nn

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/mistyped"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"gorgonia.org/tensor"
)

// Value describes a feed or an output of a model.
type Value struct {
	Name string `json:"name"`
	// Type is float32, int64, slot (any number of int64 ids per example, with their offsets in a feed with the suffix
	// .offsets), or slot_values (the same for float32 numbers).
	Type DType `json:"type"`
	// Shape has -1 for the number of examples.
	Shape []int `json:"shape"`
}

func valueOf(n *Node) Value {
	v := Value{n.name, Float32, n.Shape()}
	if f, ok := n.op.(feed); ok {
		v.Type = f.Type
	} else if isInt(n) {
		v.Type = Int64
	}
	return v
}

func valuesOf(nodes []*Node) []Value {
	all := make([]Value, len(nodes))
	for i, n := range nodes {
		all[i] = valueOf(n)
	}
	return all
}

func sameValues(a, b []Value) bool {
	return slices.EqualFunc(a, b, func(a, b Value) bool {
		return a.Name == b.Name && a.Type == b.Type &&
			slices.Equal(a.Shape, b.Shape)
	})
}

// signatureFormat marks signatures, signatureVersion is the version of their format.
const (
	signatureFormat  = "gofleet signature"
	signatureVersion = 1
)

// signature is the content of signature.json: a model's inputs, outputs, and the format of the lines of its feeds, if
// it was saved with one.
type signature struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	Feeds   []Value         `json:"feeds"`
	Outputs []Value         `json:"outputs"`
	Rows    json.RawMessage `json:"rows,omitempty"`
}

// WriteSignature writes the model's inputs and outputs and the format of its rows as JSON.
func (m InferenceModel) WriteSignature(w io.Writer) error {
	if err := m.check(); err != nil {
		return err
	}
	s := signature{Format: signatureFormat, Version: signatureVersion, Outputs: valuesOf(m.outputs)}
	inputs := feedsOf(behind(m.outputs[0].graph, m.outputs))
	s.Feeds = valuesOf(inputs)
	if m.format != nil {
		if err := fits(m.format, inputs); err != nil {
			return fmt.Errorf("nn: the format of the rows that the model is saved with: %w", err)
		}
		var err error
		if s.Rows, err = dataset.DescribeFormat(m.format); err != nil {
			return fmt.Errorf("nn: the format of the rows that the model is saved with: %w", err)
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(s)
}

// takeSignature gives m the format saved with it, after a check that the signature belongs to this graph. A directory
// of another program has none.
func (m *Model) takeSignature(f *modelfiles.Files) error {
	data := f.Signature()
	if data == nil {
		return nil
	}
	s, err := readSignature(data)
	if err != nil {
		return err
	}
	if feeds := valuesOf(m.Inputs); !sameValues(s.Feeds, feeds) {
		return fmt.Errorf("its feeds %v are not those of the graph, %v%s", s.Feeds, feeds, signatureAdvice)
	}
	if outputs := valuesOf(m.Outputs); !sameValues(s.Outputs, outputs) {
		return fmt.Errorf("its outputs %v are not those of the graph, %v%s", s.Outputs, outputs, signatureAdvice)
	}
	if s.Rows == nil {
		return nil
	}
	if m.format, m.formatErr = dataset.ReadFormat(s.Rows); m.formatErr != nil {
		return nil // a program that feeds tensors needs no format
	}
	if err := fits(m.format, m.Inputs); err != nil {
		return fmt.Errorf("%w%s", err, signatureAdvice)
	}
	return nil
}

// errNoFormat is the error for reading lines for a model without a format.
var errNoFormat = errors.New("it was saved without one: give nn.Inference(…).WithFormat what training reads")

const signatureAdvice = ": save the model again, or remove " + modelfiles.Signature + " and " + modelfiles.Record +
	" to load it without"

func readSignature(data []byte) (s signature, err error) {
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%w%s", err, signatureAdvice)
	}
	if s.Format != signatureFormat || s.Version != signatureVersion {
		return s, fmt.Errorf("it is of format %q version %d, this build reads %q version %d: load it with the version "+
			"of gofleet that saved it, or save the model again with this one", s.Format, s.Version, signatureFormat,
			signatureVersion)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&signature{}); err != nil {
		return s, fmt.Errorf("%w%s", err, signatureAdvice)
	}
	return s, nil
}

// fits returns an error that names a feed without a column in the format.
func fits(f dataset.Format, feeds []*Node) error {
	columns, err := f.Columns()
	if err != nil {
		return err
	}
	for _, n := range feeds {
		at := slices.IndexFunc(columns, func(c dataset.Column) bool { return c.Name == n.name })
		if at < 0 {
			return fmt.Errorf("feed %s is not a column of the format, which has %s: %s", n.placed(),
				columnsString(columns), meant(n, columns))
		}
		if c := columns[at]; !isColumn(n, c) {
			return fmt.Errorf("feed %s of type %s does not take the column %s",
				n.placed(), valueOf(n).Type, columnsString(columns[at:at+1]))
		}
	}
	return nil
}

// meant is advice on a feed without a column: the column that was probably meant, first among the columns that fit.
func meant(n *Node, columns []dataset.Column) string {
	const mapped = "what a Map makes of a batch has no place in a format"
	var all, fit []string
	for _, c := range columns {
		all = append(all, c.Name)
		if isColumn(n, c) {
			fit = append(fit, c.Name)
		}
	}
	near := mistyped.Near(n.name, fit)
	if near == "" && len(fit) == 1 {
		return fmt.Sprintf("did you mean %q? (%s)", fit[0], mapped)
	}
	if near = cmp.Or(near, mistyped.Near(n.name, all)); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return mapped
}

// isColumn reports whether a batch's tensor of a column can be fed as n.
func isColumn(n *Node, c dataset.Column) bool {
	shape := c.Shape
	if len(shape) == 0 && !c.Varying {
		shape = []int{1}
	}
	if varies(n) != c.Varying || (c.Type == tensor.Float32) != (isSlotValues(n) || valueOf(n).Type == Float32) {
		return false
	}
	return c.Varying || slices.Equal(shape, n.shape[1:])
}

func columnsString(columns []dataset.Column) string {
	var all []string
	for _, c := range columns {
		shape := fmt.Sprint(c.Shape)
		if c.Varying {
			shape = "of any length"
		}
		all = append(all, fmt.Sprintf("%q %v %s", c.Name, c.Type, shape))
	}
	return strings.Join(all, ", ")
}
