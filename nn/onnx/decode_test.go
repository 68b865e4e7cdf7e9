package onnx

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields are a message's, by number, as an independent decoder sees them: uint64 of varints and fixed numbers, or
// bytes.
func fields(t testing.TB, b []byte) map[int][]any {
	t.Helper()
	all := map[int][]any{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		var v any
		switch kind {
		case protowire.VarintType:
			v, n = consumed(protowire.ConsumeVarint(b))
		case protowire.Fixed32Type:
			v, n = consumed(protowire.ConsumeFixed32(b))
		case protowire.BytesType:
			v, n = consumed(protowire.ConsumeBytes(b))
		default:
			t.Fatalf("field %d of wire type %d", number, kind)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		all[int(number)] = append(all[int(number)], v)
		b = b[n:]
	}
	return all
}

func consumed[T any](v T, n int) (any, int) { return v, n }

func texts(all []any) (s []string) {
	for _, v := range all {
		s = append(s, string(v.([]byte)))
	}
	return s
}

func text(all []any) string {
	if len(all) == 0 {
		return ""
	}
	return texts(all)[0]
}

func packed(t testing.TB, all []any) (list []int64) {
	for _, v := range all {
		for b := v.([]byte); len(b) > 0; {
			x, n := protowire.ConsumeVarint(b)
			if n < 0 {
				t.Fatal(protowire.ParseError(n))
			}
			list, b = append(list, int64(x)), b[n:]
		}
	}
	return list
}

// decoded is a file of ONNX as its decoder sees it.
type decoded struct {
	ir       uint64
	opsets   map[string]uint64
	metadata map[string]string
	doc      string
	inputs   []string // name type [dims]
	outputs  []string
	tensors  map[string]decodedTensor
	ops      []string
}

type decodedTensor struct {
	kind     uint64
	dims     []int64
	raw      []byte
	external map[string]string
}

func decode(t testing.TB, b []byte) decoded {
	t.Helper()
	m := fields(t, b)
	d := decoded{ir: m[1][0].(uint64), opsets: map[string]uint64{}, metadata: map[string]string{}, doc: text(m[6]),
		tensors: map[string]decodedTensor{}}
	for _, v := range m[8] {
		set := fields(t, v.([]byte))
		d.opsets[text(set[1])] = set[2][0].(uint64)
	}
	for _, v := range m[14] {
		e := fields(t, v.([]byte))
		d.metadata[text(e[1])] = text(e[2])
	}
	g := fields(t, m[7][0].([]byte))
	d.inputs, d.outputs = infos(t, g[11]), infos(t, g[12])
	known := map[string]bool{"": true}
	for _, v := range g[5] {
		f := fields(t, v.([]byte))
		name, tensor := text(f[8]), decodedTensor{kind: f[2][0].(uint64), dims: packed(t, f[1]), external: map[string]string{}}
		if f[9] != nil {
			tensor.raw = f[9][0].([]byte)
		}
		for _, e := range f[13] {
			entry := fields(t, e.([]byte))
			tensor.external[text(entry[1])] = text(entry[2])
		}
		if known[name] {
			t.Errorf("two initializers are called %q", name)
		}
		known[name] = true
		d.tensors[name] = tensor
	}
	for _, v := range g[11] {
		known[text(fields(t, v.([]byte))[1])] = true
	}
	d.ops = walk(t, g, known)
	for _, v := range g[12] {
		if name := text(fields(t, v.([]byte))[1]); !known[name] {
			t.Errorf("output %q is computed by no node", name)
		}
	}
	return d
}

// walk goes over a graph's nodes, each of which takes what there is before it and makes what there was not.
func walk(t testing.TB, g map[int][]any, known map[string]bool) (ops []string) {
	t.Helper()
	for _, v := range g[1] {
		n := fields(t, v.([]byte))
		op := text(n[4])
		ops = append(ops, op)
		for _, in := range texts(n[1]) {
			if !known[in] {
				t.Errorf("a %s takes %q, which nothing before it makes", op, in)
			}
		}
		for _, a := range n[5] {
			if body := fields(t, a.([]byte))[6]; body != nil {
				inner, inside := fields(t, body[0].([]byte)), map[string]bool{}
				for name := range known {
					inside[name] = true
				}
				for _, in := range inner[11] {
					inside[text(fields(t, in.([]byte))[1])] = true
				}
				ops = append(ops, walk(t, inner, inside)...)
			}
		}
		for _, out := range texts(n[2]) {
			if known[out] {
				t.Errorf("a %s makes %q, which is there", op, out)
			}
			known[out] = true
		}
	}
	return ops
}

func infos(t testing.TB, all []any) (list []string) {
	for _, v := range all {
		info := fields(t, v.([]byte))
		kind := fields(t, fields(t, info[2][0].([]byte))[1][0].([]byte))
		var dims []string
		if kind[2] != nil {
			for _, d := range fields(t, kind[2][0].([]byte))[1] {
				dim := fields(t, d.([]byte))
				if dim[1] != nil {
					dims = append(dims, strconv.FormatUint(dim[1][0].(uint64), 10))
				} else {
					dims = append(dims, text(dim[2]))
				}
			}
		}
		list = append(list, fmt.Sprint(text(info[1]), " ", kind[1][0], " ", dims))
	}
	return list
}

// check looks at the sizes of tensors, which are of float32, int64 or float64.
func (d decoded) check(t testing.TB, second []byte) {
	t.Helper()
	end := uint64(0)
	for name, x := range d.tensors {
		size := uint64(map[uint64]int{1: 4, 7: 8, 11: 8}[x.kind])
		for _, n := range x.dims {
			size *= uint64(n)
		}
		if len(x.external) == 0 {
			if uint64(len(x.raw)) != size {
				t.Errorf("%q of type %d and shape %d has %d bytes", name, x.kind, x.dims, len(x.raw))
			}
			continue
		}
		offset, _ := strconv.ParseUint(x.external["offset"], 10, 64)
		length, _ := strconv.ParseUint(x.external["length"], 10, 64)
		if length != size || offset+length > uint64(len(second)) || offset%4096 != 0 || x.raw != nil {
			t.Errorf("%q of type %d and shape %d: %v in a file of %d bytes", name, x.kind, x.dims, x.external, len(second))
		}
		end = max(end, offset+length)
	}
	if end != uint64(len(second)) {
		t.Errorf("the second file has %d bytes, arrays end at %d", len(second), end)
	}
	if d.ir != 8 || d.opsets[""] != 17 || d.opsets["ai.onnx.ml"] != map[bool]uint64{true: 2}[slices.Contains(d.ops, "LabelEncoder")] {
		t.Errorf("version %d with operators %v", d.ir, d.opsets)
	}
}
