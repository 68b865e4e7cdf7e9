package onnx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/protowire"
)

// array is an initializer: numbers that are written in its turn.
type array struct {
	name string
	kind elementType
	dims []int64
	size int64 // in bytes
	data func(io.Writer) error
}

const (
	// dataSuffix is the suffix of the name of the second file, which has weights.
	dataSuffix = ".data"
	// smallest is the size in bytes below which arrays are never in the second file.
	smallest = 1 << 10
	// alignment is the alignment of arrays in the second file, so that a runtime can map them into memory.
	alignment = 1 << 12
	pageBytes = 1 << 20
)

// largest is the largest message of Protocol Buffers that readers accept, in bytes. A test changes it.
var largest = math.MaxInt32

// write writes the file, and before it a second one if there are more than inline bytes of weights.
func (b *builder) write(file string, about protowire.Message, inline int64) error {
	total := int64(0)
	for _, a := range b.arrays {
		total += a.size
	}
	var model protowire.Message
	encode := func(second io.Writer, name string) error {
		tensors, err := b.tensors(second, name)
		if err != nil {
			return err
		}
		if model = b.model(tensors, about); len(model) > largest {
			err = fmt.Errorf("the file itself would have %d bytes, and readers take %d at most: lists of ids are in "+
				"it, one for each feed: name embeddings in Options.Rows, or train them with a Height",
				len(model), largest)
		}
		return err
	}
	var err error
	if total <= inline {
		err = encode(nil, "")
	} else {
		err = files.Write(file+dataSuffix, func(w io.Writer) error {
			if err := encode(w, filepath.Base(file)+dataSuffix); err != nil {
				return err
			}
			if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	return files.Write(file, func(w io.Writer) error {
		_, err := w.Write(model)
		return err
	})
}

// tensors returns the arrays as TensorProtos. Large arrays are written to the second file, if there is one; the tensor
// has their place.
func (b *builder) tensors(second io.Writer, name string) (tensors []protowire.Message, err error) {
	at := int64(0)
	for _, a := range b.arrays {
		var t protowire.Message
		t.Ints(1, a.dims)
		t.Int(2, int64(a.kind))
		t.String(8, a.name)
		if second == nil || a.size < smallest {
			t.Size(9, a.size)
			w := bytes.NewBuffer(t)
			err = a.data(w)
			t = w.Bytes()
		} else {
			gap := -at & (alignment - 1)
			at += gap
			t.Message(13, entry("location", name))
			t.Message(13, entry("offset", fmt.Sprint(at)))
			t.Message(13, entry("length", fmt.Sprint(a.size)))
			t.Int(14, 1) // EXTERNAL
			_, err = second.Write(make([]byte, gap))
			err = errors.Join(err, a.data(second))
			at += a.size
		}
		if err != nil {
			return nil, err
		}
		tensors = append(tensors, t)
	}
	return tensors, nil
}

// entry returns a StringStringEntryProto.
func entry(key, value string) (m protowire.Message) {
	m.String(1, key)
	m.String(2, value)
	return m
}

// model returns the ModelProto; about are the fields of its description.
func (b *builder) model(tensors []protowire.Message, about protowire.Message) (m protowire.Message) {
	var g protowire.Message
	for _, n := range b.nodes {
		g.Message(1, n.encode())
	}
	g.String(2, "gofleet")
	for _, t := range tensors {
		g.Message(5, t)
	}
	for _, in := range b.inputs {
		g.Message(11, valueInfo(in.name, in.kind, in.dims))
	}
	for _, out := range b.outputs {
		g.Message(12, valueInfo(out.name, out.kind, out.dims))
	}
	m.Int(1, irVersion)
	m.String(2, "gofleet")
	m.Message(8, operators("", opset))
	if slices.ContainsFunc(b.nodes, func(n onnxNode) bool { return n.domain == mlDomain }) {
		m.Message(8, operators(mlDomain, mlOpset))
	}
	m = append(m, about...)
	m.Message(7, g)
	return m
}

// operators returns an OperatorSetIdProto.
func operators(domain string, version int64) (m protowire.Message) {
	m.String(1, domain)
	m.Int(2, version)
	return m
}

// floats returns a function that writes numbers.
func floats(all []float32) func(io.Writer) error {
	return func(w io.Writer) error {
		var raw []byte
		for page := range slices.Chunk(all, pageBytes/4) {
			raw = raw[:0]
			for _, v := range page {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
			}
			if _, err := w.Write(raw); err != nil {
				return err
			}
		}
		return nil
	}
}
