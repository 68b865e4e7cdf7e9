package weights_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer/weights"
	"github.com/google/go-cmp/cmp"
)

// TestONNX: arrays are read as Python's onnx wrote them (testdata/make_onnx.py), whatever their type, and wherever they lie.
func TestONNX(t *testing.T) {
	full := []float32{0, -1.5, 0.1, 65504, 0x1p-24, 3}
	half := []float32{0, -1.5, 0.0999755859375, 65504, 0x1p-24, 3}
	near, cut := []float32{0, -1.5, 0.10009765625, 65536, 0x1p-24, 3}, []float32{0, -1.5, 0.099609375, 65280, 0x1p-24, 3}
	f, err := weights.Open(t.Context(), "testdata/typed.onnx")
	law.Check(t, err)
	defer f.Close()
	for name, want := range map[string][]float32{"typed.float32": full, "raw.float32": full, "typed.float64": full, "raw.float64": full,
		"typed.float16": half, "raw.float16": half, "typed.bfloat16": near, "raw.bfloat16": cut} {
		if got, err := f.Array(name); err != nil || !slices.Equal(got.Shape, []int{2, 3}) || !slices.Equal(got.Values, want) {
			t.Errorf("%s: %v %v, want %v", name, got, err, want)
		}
	}
	if got, err := f.Array("scalar"); err != nil || len(got.Shape) != 0 || !slices.Equal(got.Values, []float32{4}) {
		t.Errorf("scalar: %v %v", got, err)
	}
	if got, err := f.Array("empty"); err != nil || !slices.Equal(got.Shape, []int{0, 2}) || len(got.Values) != 0 {
		t.Errorf("empty: %v %v", got, err)
	}
	for name, want := range map[string][]weights.Row{
		"emb":  {{ID: 7, W: []float32{0, 1}}, {ID: 1 << 40, W: []float32{2, 3}}, {ID: math.MaxUint64 - 2, W: []float32{4, 5}}},
		"more": {{ID: 5, W: []float32{8}}, {ID: math.MaxUint64, W: []float32{9}}},
		"few":  {{ID: 5, W: []float32{8}}, {ID: math.MaxUint64, W: []float32{9}}},
		"some": {{ID: 5, W: []float32{8}}, {ID: 6, W: []float32{9}}},
	} {
		if got, err := all(f.Rows(name)); err != nil || !cmp.Equal(got, want) {
			t.Errorf("rows of %s: %v %v, want %v", name, got, err, want)
		}
	}
	for name, want := range map[string]string{"bytes": "elements of TensorProto.DataType 2", "fc": `unknown array "fc"`} {
		if _, err := f.Array(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	beside, err := weights.Open(t.Context(), "testdata/external.onnx")
	law.Check(t, err)
	defer beside.Close()
	for name, first := range map[string]float32{"w0": 0, "w100": 100} {
		want := []float32{first, first + 1, first + 2, first + 3, first + 4, first + 5}
		if got, err := beside.Array(name); err != nil || !slices.Equal(got.Shape, []int{2, 3}) || !slices.Equal(got.Values, want) {
			t.Errorf("%s: %v %v, want %v", name, got, err, want)
		}
	}
}

// TestONNXBeside: numbers outside of a file are in its directory or below, in a regular file that is long enough.
func TestONNXBeside(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "model")
	numbers := make([]byte, 48)
	for _, name := range []string{filepath.Join(outer, "external.bin"), filepath.Join(dir, "below", "external.bin")} {
		law.Check(t, os.MkdirAll(filepath.Dir(name), 0o777))
		law.Check(t, os.WriteFile(name, numbers, 0o666))
	}
	law.Check(t, os.WriteFile(filepath.Join(dir, "short.bin"), numbers[:47], 0o666))
	if err := os.Symlink(filepath.Join(outer, "external.bin"), filepath.Join(dir, "link.bin")); err != nil {
		t.Skip("there are no links here: ", err)
	}
	model, err := os.ReadFile("testdata/external.onnx")
	law.Check(t, err)
	for location, want := range map[string]string{
		"below/external.bin": "", "short.bin": "unexpected EOF", "../external.bin": "escapes", "link.bin": "escapes", "below": "not a regular file",
		filepath.Join(outer, "external.bin"): "escapes", "external.bin": "no such file", "": "",
	} {
		name := filepath.Join(dir, "m.onnx")
		law.Check(t, os.WriteFile(name, renamed(model, "external.bin", location), 0o666))
		f, err := weights.Open(t.Context(), name)
		law.Check(t, err)
		_, err = f.Array("w100")
		if (err == nil) != (want == "" && location != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", location, err, want)
		}
		f.Close()
	}
}

// renamed is a model with another location in its tensors, built anew from their fields.
func renamed(model []byte, old, location string) []byte {
	text := func(field byte, s string) string { return string([]byte{field<<3 | 2}) + varint(len(s)) + s }
	entry := func(key, value string) string { return text(13, text(1, key)+text(2, value)) }
	var tensors string
	for i, name := range []string{"w0", "w100"} {
		tensor := text(1, "\x02\x03") + "\x10\x01" + text(8, name) + entry("location", location) + entry("offset", fmt.Sprint(24*i)) +
			entry("length", "24") + "\x70\x01"
		tensors += "\x2a" + varint(len(tensor)) + tensor
	}
	return []byte("\x08\x08\x3a" + varint(len(tensors)) + tensors)
}

func varint(n int) string {
	if n < 128 {
		return string([]byte{byte(n)})
	}
	return string([]byte{byte(n&127 | 128), byte(n >> 7)})
}

// TestONNXRefuses: what is cut, or says what can't be, is an error.
func TestONNXRefuses(t *testing.T) {
	whole, err := os.ReadFile("testdata/typed.onnx")
	law.Check(t, err)
	tensor := func(tensors ...string) string {
		graph := ""
		for _, fields := range tensors {
			graph += "\x2a" + varint(len(fields)) + fields
		}
		return "\x3a" + varint(len(graph)) + graph
	}
	row := "\x42\x01w\x10\x01\x0a\x02\x01\x01\x22\x04\x00\x00\x00\x00"
	ids := "\x42\x05w.ids\x10\x07\x08\x01"
	float := "\x42\x01w\x10\x01"
	for name, c := range map[string]struct{ data, want string }{
		"nothing":                          {"", "one graph"},
		"half":                             {string(whole[:len(whole)/2]), "is cut"},
		"two graphs":                       {"\x3a\x00\x3a\x00", "one graph"},
		"a field without number":           {"\x00", "invalid field at byte 0"},
		"a group":                          {"\x3b", "no known kind"},
		"a field with a length beyond all": {"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "is cut"},
		"a segment":                        {tensor(float + "\x1a\x00"), "a segment"},
		"two pieces":                       {tensor(float + "\x22\x04\x00\x00\x00\x00\x22\x04\x00\x00\x00\x00"), "several pieces"},
		"numbers one by one":               {tensor(float + "\x25\x00\x00\x00\x00"), "several pieces"},
		"numbers of another type":          {tensor(float + "\x28\x02\x2a\x01\x00"), "several pieces"},
		"numbers in a field of others":     {tensor(float + "\x2a\x01\x00"), "field 5"},
		"a dimension below 0":              {tensor(float + "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "below 0"},
		"dimensions that are cut":          {tensor(float + "\x0a\x01\x80"), "dimensions are cut"},
		"too many dimensions":              {tensor(float + "\x0a\x81\x20" + strings.Repeat("\x01", 4097)), "4097 bytes, where 4096 are the most"},
		"more than it has":                 {tensor(float + "\x08\x02\x22\x04\x00\x00\x00\x00"), "claims shape [2]"},
		"more ids than rows":               {tensor(row, ids+"\x3a\x02\x01\x02"), "continues after"},
		"an id that is cut":                {tensor(row, ids+"\x3a\x01\x81"), "unexpected EOF"},
		"no id":                            {tensor(row, ids), "unexpected EOF"},
		"ids of another shape":             {tensor(row, ids+"\x08\x02\x3a\x02\x01\x02"), "has shape [1 2]"},
		"an offset that is none":           {tensor(float + "\x70\x01\x6a\x0d\x0a\x06offset\x12\x03-10"), "offset of its external data"},
	} {
		f, err := openBytes(t, "m.onnx", []byte(c.data))
		if err == nil {
			if _, err = f.Array("w"); err == nil {
				_, err = all(f.Rows("w"))
			}
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	twice := bytes.Replace(whole, []byte("raw.float16"), []byte("raw.float32"), 1)
	if _, err := openBytes(t, "m.onnx", twice); err == nil || !strings.Contains(err.Error(), "two have this name") {
		t.Errorf("two of a name: %v", err)
	}
}
