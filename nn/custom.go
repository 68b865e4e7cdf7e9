package nn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// Op is your own operation on float32 numbers, from which [Custom] makes nodes. It is plain data, used by several
// goroutines at once, and must be deterministic. A panic in it becomes the error of the step: an [ErrOpPanicked] that
// names the node and wraps the panic's value, if that is an error. Test it with package nntest.
//
// An Op whose value for an example also depends on the other examples of the batch has a method OfBatch(). It is called
// with whole batches; [InferenceModel.Freeze] refuses it.
type Op interface {
	// Shape is the shape of the value, from the inputs' shapes, each without the batch.
	Shape(in [][]int) ([]int, error)
	// Forward sets each element of c.Out.Value.
	Forward(c *OpCall)
	// Backward adds to the Grad of each input that has one, given c.Out.Grad.
	Backward(c *OpCall)
}

// OpCall is the input and output of one call of an Op, and valid only during the call. A large batch is split into
// parts, computed by several goroutines; the parts are the same on every machine.
type OpCall struct {
	Rows  int  // examples; 1 where no input has any
	Train bool // the value is of a training step
	In    []OpValue
	Out   OpValue
	cell  *cell
}

// OpValue is an input or the result of an Op, row-major.
type OpValue struct {
	Shape []int // Rows first, except for parameters and values computed only from them
	Value []float32
	Grad  []float32 // nil in Forward, and for an input that needs none or gets it in another call
}

// Keep returns memory for n numbers that Forward can fill for Backward of the same examples.
func (c *OpCall) Keep(n int) []float32 { return c.cell.scratch(n) }

// Custom is the value of your own operation, which [RegisterOp] names for saved models.
func Custom(o Op, in ...*Node) *Node { return apply("", opOf(o), in...) }

// opTypes maps names to users' types of ops.
var opTypes sync.Map

// RegisterOp names a custom operation in saved models. Both the program that saves a model and the program that loads
// it must call it. Attributes are the exported fields. It is an error if the name is taken by another type.
func RegisterOp[O Op](name string) error {
	t := reflect.TypeFor[O]()
	if old, taken := opTypes.LoadOrStore(name, t); name == "" || taken && old != t {
		return fmt.Errorf("nn: RegisterOp(%q) of %v: the name is empty, or stands for %v: take another", name, t, old)
	}
	return nil
}

type (
	ownOp    struct{ op Op }
	ownRows  struct{ ownOp }
	ownBatch struct{ ownOp }
)

func opOf(o Op) op {
	if _, is := o.(interface{ OfBatch() }); is {
		return ownBatch{ownOp{o}}
	}
	return ownRows{ownOp{o}}
}

func (ownRows) byExample() {}
func (ownBatch) mixes()    {}
func (ownOp) kind() string { return "custom" }

func (o ownOp) infer(in []*Node) (shape []int, err error) {
	if o.op == nil || len(in) == 0 {
		return nil, errors.New("it needs an Op and inputs")
	}
	if err := wantFloat(in); err != nil {
		return nil, err
	}
	shapes := make([][]int, len(in))
	for i, n := range in {
		if shapes[i] = n.Shape(); batched(n) {
			shape, shapes[i] = []int{batch}, shapes[i][1:]
		}
	}
	each, err := o.op.Shape(shapes)
	if shape = append(shape, each...); err == nil && (len(shape) == 0 || len(each) > 0 && slices.Min(each) < 1) {
		err = fmt.Errorf("the shape is %v: dimensions from 1 are needed", each)
	}
	if err != nil {
		return nil, fmt.Errorf("%T of %v: %w", o.op, in, err)
	}
	return shape, nil
}

func (o ownOp) forward(c *cell) {
	call := c.called()
	o.op.Forward(call)
	clear(call.In) // feeds belong to the caller
}

func (o ownOp) backward(c *cell) {
	call := c.called()
	call.Out.Grad = c.grad
	for i, in := range c.in {
		if in.wanted {
			call.In[i].Grad = in.sum()
		}
	}
	o.op.Backward(call)
	clear(call.In)
}

// called returns the call that computes the cell.
func (c *cell) called() *OpCall {
	if c.call == nil {
		c.call = &OpCall{In: make([]OpValue, len(c.in)), cell: c}
	}
	o := c.call
	o.Rows, o.Train, o.Out = 1, c.train, OpValue{Shape: c.shape, Value: c.value}
	if batched(c.node) {
		o.Rows = c.rows()
	}
	for i, in := range c.in {
		o.In[i] = OpValue{Shape: in.shape, Value: in.value}
	}
	return o
}

// savedOp is a user's op in a saved graph.
type savedOp struct {
	Name  string          `json:"name"`
	Attrs json.RawMessage `json:"attrs"`
}

// saved returns the saved form, and an error for an op that would not be loaded unchanged.
func (o ownOp) saved() (s savedOp, err error) {
	opTypes.Range(func(name, t any) bool {
		if t == reflect.TypeOf(o.op) {
			s.Name = name.(string)
		}
		return s.Name == ""
	})
	if s.Name == "" {
		return s, fmt.Errorf("%T has no name: call nn.RegisterOp[%[1]T] with one, here and where the model is loaded",
			o.op)
	}
	if s.Attrs, err = json.Marshal(o.op); err != nil {
		return s, err
	}
	if again, err := s.op(); err != nil || !reflect.DeepEqual(again, o.op) {
		return s, fmt.Errorf("%T is %+[1]v, and would be loaded as %+v (%v): what it has belongs in exported fields",
			o.op, again, err)
	}
	return s, nil
}

func (s savedOp) op() (Op, error) {
	t, ok := opTypes.Load(s.Name)
	if !ok {
		return nil, fmt.Errorf("it is a program's own, %q: call nn.RegisterOp with that name here too", s.Name)
	}
	v, d := reflect.New(t.(reflect.Type)), json.NewDecoder(bytes.NewReader(s.Attrs))
	d.DisallowUnknownFields()
	err := d.Decode(v.Interface())
	return v.Elem().Interface().(Op), err
}

func decodeCustom(attrs json.RawMessage) (op, error) {
	var s savedOp
	if err := json.Unmarshal(attrs, &s); err != nil {
		return nil, err
	}
	o, err := s.op()
	return opOf(o), err
}
