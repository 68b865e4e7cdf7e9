package nn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// row is an op that is all formulas, in a table of its kind.
type row struct {
	name string
	// attrs are the names of its arguments in saved graphs; one in brackets is left out if it is 0.
	attrs             string
	check             func(a args) error // nil for none
	forward, backward func(c *cell, a args)
	limits            func(n *Node) []limit // of a loss
}

// args are the arguments of a formula, in the order of attrs.
type args [2]float32

// formulas are a table of rows, by name.
type formulas map[string]*row

func tabled(all ...row) formulas {
	t := formulas{}
	for _, r := range all {
		t[r.name] = &r
	}
	return t
}

func (t formulas) of(name string, a ...float32) (f formula) {
	f.row = t[name]
	copy(f.args[:], a)
	return f
}

// formula is a row with its arguments.
type formula struct {
	row  *row
	args args
}

func (f formula) kind() string     { return f.row.name }
func (f formula) forward(c *cell)  { f.row.forward(c, f.args) }
func (f formula) backward(c *cell) { f.row.backward(c, f.args) }

// checked returns what is wrong with the arguments, or else err.
func (f formula) checked(err error) error {
	if f.row.check != nil {
		if wrong := f.row.check(f.args); wrong != nil {
			return wrong
		}
	}
	return err
}

// MarshalJSON writes the arguments as attributes.
func (f formula) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, name := range strings.Fields(f.row.attrs) {
		short, optional := strings.CutPrefix(name, "[")
		if optional && f.args[i] == 0 {
			continue
		}
		number, err := json.Marshal(f.args[i])
		if err != nil {
			return nil, err
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "%q:%s", strings.TrimSuffix(short, "]"), number)
	}
	return append(text, '}'), nil
}

// recipe makes the op of a row from its attributes in a saved graph.
func (t formulas) recipe(name string, inputs int, make func(formula) op) recipe {
	return recipe{func(attrs json.RawMessage) (op, error) {
		f, known := t.of(name), strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(t[name].attrs))
		var given map[string]float32
		if len(attrs) > 0 {
			if err := json.NewDecoder(bytes.NewReader(attrs)).Decode(&given); err != nil {
				return nil, fmt.Errorf("attributes: %w", err)
			}
		}
		for i, name := range known {
			f.args[i] = given[name]
			delete(given, name)
		}
		for name := range given {
			return nil, fmt.Errorf("attributes: unknown field %q", name)
		}
		return make(f), nil
	}, inputs, inputs}
}
