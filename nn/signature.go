package nn

import (
	"bytes"
	"cmp"
	"encoding/json"
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

// Describe describes the node's value.
func (n *Node) Describe() Value {
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
		all[i] = n.Describe()
	}
	return all
}

// Same reports whether both describe the same.
func (v Value) Same(o Value) bool {
	return v.Name == o.Name && v.Type == o.Type && slices.Equal(v.Shape, o.Shape)
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
	s.Feeds = valuesOf(m.feeds())
	if m.format != nil {
		if err := m.Fits(m.format); err != nil {
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

// ReadSignature compares what [InferenceModel.WriteSignature] wrote with the model, and returns the format of its rows:
// nil if it was saved without one, or with unknown, an error, if this program does not know the format's name.
func (m InferenceModel) ReadSignature(data []byte) (f dataset.Format, unknown, err error) {
	if err := m.check(); err != nil {
		return nil, nil, err
	}
	s, err := readSignature(data)
	if err != nil {
		return nil, nil, err
	}
	for _, part := range []struct {
		what      string
		has, want []Value
	}{
		{"feeds", s.Feeds, valuesOf(m.feeds())},
		{"outputs", s.Outputs, valuesOf(m.outputs)},
	} {
		if !slices.EqualFunc(part.has, part.want, Value.Same) {
			return nil, nil, fmt.Errorf("its %s %v are not those of the graph, %v%s", part.what, part.has, part.want,
				signatureAdvice)
		}
	}
	if s.Rows == nil {
		return nil, nil, nil
	}
	if f, unknown = dataset.ReadFormat(s.Rows); unknown != nil {
		return nil, unknown, nil
	}
	if err := m.Fits(f); err != nil {
		return nil, nil, fmt.Errorf("%w%s", err, signatureAdvice)
	}
	return f, nil, nil
}

func (m InferenceModel) feeds() []*Node { return feedsOf(behind(m.outputs[0].graph, m.outputs)) }

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

// Fits returns an error that names a feed of the model without a column in the format.
func (m InferenceModel) Fits(f dataset.Format) error {
	if err := m.check(); err != nil {
		return err
	}
	columns, err := f.Columns()
	if err != nil {
		return err
	}
	for _, n := range m.feeds() {
		at := slices.IndexFunc(columns, func(c dataset.Column) bool { return c.Name == n.name })
		if at < 0 {
			return fmt.Errorf("feed %s is not a column of the format, which has %s: %s", n.placed(),
				columnsString(columns), meant(n, columns))
		}
		if c := columns[at]; !isColumn(n, c) {
			return fmt.Errorf("feed %s of type %s does not take the column %s",
				n.placed(), n.Describe().Type, columnsString(columns[at:at+1]))
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

// Column is the column of a batch that a feed takes. Ids that are only looked up may use all 64 bits, unless a padding
// id is negative: then ids are int64, as in training.
func (n *Node) Column() dataset.Column {
	switch c := (dataset.Column{Name: n.name, Type: tensor.Float32, Shape: n.Shape()[1:]}); {
	case isSlotValues(n):
		return dataset.Varying(dataset.Floats(n.name))
	case isSlot(n) && paddedBelowZero(n):
		return dataset.Varying(dataset.Ints(n.name))
	case isSlot(n):
		return dataset.Varying(dataset.IDs(n.name))
	case isInt(n) && lookedUpOnly(n) && !paddedBelowZero(n):
		c.Type = tensor.Uint64
		return c
	case isInt(n):
		c.Type = tensor.Int64
		return c
	default:
		return c
	}
}

// isColumn reports whether a batch's tensor of a column can be fed as n.
func isColumn(n *Node, c dataset.Column) bool {
	shape := c.Shape
	if len(shape) == 0 && !c.Varying {
		shape = []int{1}
	}
	if varies(n) != c.Varying || (c.Type == tensor.Float32) != (isSlotValues(n) || n.Describe().Type == Float32) {
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

func lookedUpOnly(n *Node) bool {
	for _, user := range n.graph.nodes {
		for i, in := range user.in {
			if in == n && !readsBits(user.op, i) {
				return false
			}
		}
	}
	return true
}

// paddedBelowZero reports whether a lookup of the ids has a negative padding id.
func paddedBelowZero(ids *Node) bool {
	return slices.ContainsFunc(ids.graph.nodes, func(user *Node) bool {
		l, is := user.op.(lookup)
		return is && user.in[0] == ids && l.padding() != nil && *l.padding() < 0
	})
}
