package onnx

import (
	"github.com/gofleet/gofleet/internal/protowire"
)

// The numbers of fields here and below are from onnx.proto3 of ONNX 1.12, whose IR is version 8.

// elementType is a TensorProto.DataType.
type elementType int64

const (
	float32Type elementType = 1
	int64Type   elementType = 7
	boolType    elementType = 9
	float64Type elementType = 11
)

// valueInfo returns a ValueInfoProto: a name, the type of elements, and dimensions, which are numbers, or a name for
// one that differs from call to call. Nil dimensions are left out.
func valueInfo(name value, t elementType, dims []any) (info protowire.Message) {
	var shape, tensor, kind protowire.Message
	for _, d := range dims {
		var dim protowire.Message
		switch d := d.(type) {
		case int:
			dim.Int(1, int64(d))
		case string:
			dim.String(2, d)
		}
		shape.Message(1, dim)
	}
	tensor.Int(1, int64(t))
	if dims != nil {
		tensor.Message(2, shape)
	}
	kind.Message(1, tensor)
	info.String(1, string(name))
	info.Message(2, kind)
	return info
}

// The values of AttributeProto.AttributeType.
const (
	floatAttribute = 1
	intAttribute   = 2
	graphAttribute = 5
	intsAttribute  = 7
)

// attr returns an attribute of a node.
func attr[T float32 | int | []int64 | protowire.Message](name string, v T) (a attribute) {
	m := (*protowire.Message)(&a)
	m.String(1, name)
	switch v := any(v).(type) {
	case float32:
		m.Float(2, v)
		m.Int(20, floatAttribute)
	case int:
		m.Int(3, int64(v))
		m.Int(20, intAttribute)
	case protowire.Message:
		m.Message(6, v)
		m.Int(20, graphAttribute)
	case []int64:
		m.Ints(8, v)
		m.Int(20, intsAttribute)
	}
	return a
}

// encode returns the NodeProto.
func (n onnxNode) encode() (m protowire.Message) {
	for _, in := range n.in {
		m.String(1, string(in))
	}
	for _, out := range n.out {
		m.String(2, string(out))
	}
	m.String(3, string(n.out[0]))
	m.String(4, n.op)
	for _, a := range n.attrs {
		m.Message(5, protowire.Message(a))
	}
	if n.domain != "" {
		m.String(7, n.domain)
	}
	return m
}
