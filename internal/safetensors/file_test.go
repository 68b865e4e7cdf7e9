package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/internal/law"
)

// file is a header and data, as bytes.
func file(header, data string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

// A header as other writers lay it out: members in any order, spaces, escapes, unknown members, an empty tensor and a scalar.
//
// Promise: [G6] files are read as other programs write them, and refused where they are damaged
// Also: TestOpenRefuses, TestReadAfterTheFileShrank, TestWriterReportsErrors, TestOtherWriters (optimizer/weights),
// TestRoundTrips (optimizer/weights), TestReadersRefuse (optimizer/weights), TestCutFiles (optimizer/weights),
// TestAFlippedBit (optimizer/weights)
func TestReadsOtherWriters(t *testing.T) {
	const header = "{ \"w\\u00e9\": {\"data_offsets\": [4, 12], \"shape\": [2,1], \"dtype\": \"F32\", \"note\": [1]},\n" +
		`"scalar":{"dtype":"I32","shape":[],"data_offsets":[0,4]},"none":{"dtype":"F64","shape":[0,9],"data_offsets":[4,4]},` +
		`"half":{"dtype":"BF16","shape":[1],"data_offsets":[12,14]},"__metadata__":{"format":"pt"}}   `
	f, err := Parse(file(header, "\xff\xff\xff\xff\x00\x00\x80\x3f\x00\x00\x00\x40\x80\x3f"))
	law.Check(t, err)
	if v, err := Read[int32](f, "scalar"); err != nil || !slices.Equal(v, []int32{-1}) {
		t.Errorf("scalar is %v, error %v", v, err)
	}
	if v, err := Read[float32](f, "wé"); err != nil || !slices.Equal(v, []float32{1, 2}) {
		t.Errorf("wé is %v, error %v", v, err)
	}
	if v, err := Read[float64](f, "none"); err != nil || len(v) != 0 {
		t.Errorf("none is %v, error %v", v, err)
	}
	half, _ := f.Tensor("half")
	if raw, err := io.ReadAll(f.Section(half)); err != nil || string(raw) != "\x80\x3f" {
		t.Errorf("half is %q, error %v", raw, err)
	}
	if m := f.Metadata(); m["format"] != "pt" || len(m) != 1 {
		t.Errorf("metadata is %v", m)
	}
	var names []string
	for _, i := range f.Tensors() {
		names = append(names, i.Name)
	}
	if want := []string{"scalar", "none", "wé", "half"}; !slices.Equal(names, want) {
		t.Errorf("tensors in the order of data: %v, want %v", names, want)
	}
}

func TestOpenRefuses(t *testing.T) {
	const w = `"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	tests := []struct{ name, header, data, want string }{
		{"no object", `[]`, "", "must be a JSON object"},
		{"nothing", ``, "", "must be a JSON object"},
		{"cut off", `{` + w, "01234567", "the header's JSON"},
		{"no colon", `{"w"}`, "", `"w" in the header`},
		{"number for a name", `{1:2}`, "", "the header's JSON"},
		{"two objects", `{}{}`, "", "goes on after"},
		{"rubbish behind", `{}x`, "", "goes on after"},
		{"twice", `{` + w + `,` + w + `}`, "01234567", `the header has "w" twice`},
		{"no entry", `{"w":3}`, "", `"w" in the header`},
		{"null", `{"w":null}`, "", "it needs dtype, shape and two data_offsets"},
		{"no dtype", `{"w":{"shape":[2],"data_offsets":[0,8]}}`, "01234567", "it needs dtype"},
		{"no shape", `{"w":{"dtype":"F32","data_offsets":[0,4]}}`, "0123", "it needs dtype, shape"},
		{"one offset", `{"w":{"dtype":"F32","shape":[2],"data_offsets":[8]}}`, "01234567", "two data_offsets"},
		{"three offsets", `{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}}`, "01234567", "two data_offsets"},
		{"unknown dtype", `{"w":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}`, "0", `dtype "F4" is unknown`},
		{"negative shape", `{"w":{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}}`, "01234567", "negative dimension"},
		{"fraction", `{"w":{"dtype":"F32","shape":[1.5],"data_offsets":[0,8]}}`, "01234567", `"w" in the header`},
		{"shape overflows", `{"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`, "", "too large"},
		{"backwards", `{"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, "01234567", "invalid data_offsets [8 0]"},
		{"negative offset", `{"w":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}`, "01234567", "invalid data_offsets [-8 0]"},
		{"too short", `{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, "0123", "have 4 bytes, F32 [2] needs 8"},
		{"overlap", `{` + w + `,"v":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, "0123456789ab",
			`data of tensor "v" begin at 4, but those before it end at 8`},
		{"same place", `{` + w + `,"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, "01234567", "but those before it end at 8"},
		{"gap", `{"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, "01", "begin at 1, but those before it end at 0"},
		{"data missing", `{` + w + `}`, "0123456", "describes 8 bytes of data, the file has 7"},
		{"data left over", `{` + w + `}`, "012345678", "describes 8 bytes of data, the file has 9"},
		{"far away", `{"w":{"dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807]}}`, "0", "the file has 1"},
		{"metadata of numbers", `{"__metadata__":{"a":1}}`, "", `"__metadata__" in the header`},
		{"metadata list", `{"__metadata__":[]}`, "", `"__metadata__" in the header`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(file(tt.header, tt.data))
			if !errors.Is(err, ErrFormat) || !strings.HasPrefix(err.Error(), "safetensors: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestOpenRefusesHeaderLengths(t *testing.T) {
	for _, n := range []uint64{3, MaxHeader + 1, 1 << 62, 1<<64 - 1} {
		b := append(binary.LittleEndian.AppendUint64(nil, n), "{}"...)
		if _, err := Parse(b); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "the header claims") {
			t.Errorf("header of %d bytes: error %v", n, err)
		}
	}
	for n := range 8 {
		if _, err := Parse(make([]byte, n)); !errors.Is(err, ErrFormat) {
			t.Errorf("a file of %d bytes: error %v", n, err)
		}
	}
}

func sample(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, []Tensor{{"ids", U64, []int{3}}, {"w", F32, []int{3, 2}}}, nil)
	law.Check(t, err)
	put(t, w, "ids", []uint64{1, 2, 1 << 63})
	put(t, w, "w", []float32{1, 2, 3, 4, 5, 6})
	law.Check(t, w.Close())
	return b.Bytes()
}

func TestReadAt(t *testing.T) {
	f, err := Parse(sample(t))
	law.Check(t, err)
	v := make([]float32, 2)
	if err := ReadAt(f, "w", v, 3); err != nil || !slices.Equal(v, []float32{4, 5}) {
		t.Errorf("elements 3 and 4 are %v, error %v", v, err)
	}
	if err := ReadAt(f, "w", v[:0], 6); err != nil {
		t.Errorf("no elements at the end: %v", err)
	}
	for _, first := range []int{-1, 5, 7, 1 << 62} {
		if err := ReadAt(f, "w", v, first); err == nil || !strings.Contains(err.Error(), `of tensor "w", which has 6`) {
			t.Errorf("two elements from %d: error %v", first, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	f, err := Parse(sample(t))
	law.Check(t, err)
	if _, err := Read[float32](f, "v"); err == nil || !strings.Contains(err.Error(), `unknown tensor "v"`) {
		t.Errorf("unknown name: error %v", err)
	}
	if _, err := Read[int64](f, "ids"); err == nil || !strings.Contains(err.Error(), `tensor "ids" holds U64, not I64`) {
		t.Errorf("wrong type: error %v", err)
	}
}

// TestReadOfUnaligned: a tensor may lie anywhere.
func TestReadOfUnaligned(t *testing.T) {
	const header = `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}`
	for shift := range 8 {
		data := append(make([]byte, shift), file(header, "\x01\x00\x00\x80\x3f")...)
		f, err := Parse(data[shift:])
		law.Check(t, err)
		if v, err := Read[float32](f, "w"); err != nil || !slices.Equal(v, []float32{1}) {
			t.Errorf("shifted by %d: %v, error %v", shift, v, err)
		}
	}
}

// opened opens the file of a name, which holds data.
func opened(t *testing.T, name string, data []byte) (*File, error) {
	t.Helper()
	err := os.WriteFile(name, data, 0o600)
	file, bad := os.Open(name)
	if err = errors.Join(err, bad); err != nil {
		t.Fatal(err)
	}
	return OpenFrom(file)
}

func TestOpenFrom(t *testing.T) {
	name := filepath.Join(t.TempDir(), "model.safetensors")
	f, err := opened(t, name, sample(t))
	law.Check(t, err)
	if v, err := Read[uint64](f, "ids"); err != nil || !slices.Equal(v, []uint64{1, 2, 1 << 63}) {
		t.Errorf("ids are %v, error %v", v, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := opened(t, name, []byte("not a table at all")); !errors.Is(err, ErrFormat) {
		t.Errorf("a file of another format: error %v", err)
	}
}

// shrunk is a file that became shorter after it was opened.
func TestReadAfterTheFileShrank(t *testing.T) {
	data := sample(t)
	name := filepath.Join(t.TempDir(), "model.safetensors")
	f, err := opened(t, name, data)
	law.Check(t, err)
	defer f.Close()
	law.Check(t, os.Truncate(name, int64(len(data)-4)))
	if _, err := Read[float32](f, "w"); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), `reading tensor "w"`) {
		t.Errorf("error %v", err)
	}
}

// Any list of tensors, written in pieces of any size, reads back as it was; also with the bytes of a machine of the other
// endianness, whose files are the same.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.String(), 0, 6, rapid.ID).Draw(t, "names")
		names = slices.DeleteFunc(names, func(s string) bool { return CheckName(s) != nil })
		shapes := make([][]int, len(names))
		for i := range names {
			shapes[i] = rapid.SliceOfN(rapid.IntRange(0, 9), 0, 4).Draw(t, "shape")
		}
		metadata := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "metadata")
		piece := rapid.IntRange(1, 100).Draw(t, "piece")
		swapped := rapid.Bool().Draw(t, "other endianness")
		switch rapid.IntRange(0, 5).Draw(t, "type") {
		case 0:
			roundTrip(t, names, shapes, metadata, piece, swapped, func(r *rand.Rand) float32 { return r.Float32() })
		case 1:
			roundTrip(t, names, shapes, metadata, piece, swapped, (*rand.Rand).NormFloat64)
		case 2:
			roundTrip(t, names, shapes, metadata, piece, swapped, (*rand.Rand).Uint64)
		case 3:
			roundTrip(t, names, shapes, metadata, piece, swapped, (*rand.Rand).Int64)
		case 4:
			roundTrip(t, names, shapes, metadata, piece, swapped, func(r *rand.Rand) uint8 { return uint8(r.Uint32()) })
		case 5:
			roundTrip(t, names, shapes, metadata, piece, swapped, func(r *rand.Rand) int16 { return int16(r.Uint32()) })
		}
	})
}

func roundTrip[T Element](t *rapid.T, names []string, shapes [][]int, metadata map[string]string,
	piece int, swapped bool, draw func(*rand.Rand) T) {
	r := rand.New(rand.NewPCG(1, uint64(len(names))))
	var tensors []Tensor
	var values [][]T
	for i, name := range names {
		tensors = append(tensors, Tensor{name, TypeOf[T](), shapes[i]})
		v := make([]T, count(shapes[i]))
		for j := range v {
			v[j] = draw(r)
		}
		values = append(values, v)
	}
	f := reread(t, tensors, values, metadata, piece, swapped)
	if diff := cmp.Diff(metadata, f.Metadata()); diff != "" && len(metadata) > 0 {
		t.Fatalf("metadata (-want +got):\n%s", diff)
	}
	for i, want := range tensors {
		info, ok := f.Tensor(want.Name)
		if !ok || info.DType != want.DType || !slices.Equal(info.Shape, want.Shape) {
			t.Fatalf("tensor %+v became %+v", want, info)
		}
		got, err := Read[T](f, want.Name)
		if err != nil || !slices.Equal(got, values[i]) {
			t.Fatalf("tensor %q: wrote %v, read %v, error %v", want.Name, values[i], got, err)
		}
	}
}

// reread writes in pieces and opens what was written.
func reread[T Element](t *rapid.T, tensors []Tensor, values [][]T, metadata map[string]string, piece int, swapped bool) *File {
	var b bytes.Buffer
	w, err := NewWriter(&b, tensors, metadata)
	law.Check(t, err)
	w.swap = w.swap != swapped
	for i, v := range values {
		for p := range slices.Chunk(v, piece) {
			law.Check(t, Put(w, tensors[i].Name, p))
		}
	}
	law.Check(t, w.Close())
	f, err := Parse(b.Bytes())
	law.Check(t, err)
	f.swap = f.swap != swapped
	return f
}

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// A writer that turns bytes around really does.
func TestOtherEndianness(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, []Tensor{{"v", U32, []int{40000}}}, nil)
	law.Check(t, err)
	w.swap = true
	v := make([]uint32, 40000)
	for i := range v {
		v[i] = uint32(i) * 0x01020304
	}
	put(t, w, "v", v)
	if v[1] != 0x01020304 {
		t.Error("writing changed the caller's values")
	}
	data := b.Bytes()[b.Len()-4*len(v):]
	for i, x := range v {
		if got := binary.NativeEndian.Uint32(data[4*i:]); got != x<<24|x>>24|(x&0xff00)<<8|(x>>8)&0xff00 {
			t.Fatalf("element %d is written %#x, value %#x", i, got, x)
		}
	}
}

func TestTypes(t *testing.T) {
	all := map[DType]int{
		TypeOf[float64](): 8, TypeOf[int64](): 8, TypeOf[uint64](): 8,
		TypeOf[float32](): 4, TypeOf[int32](): 4, TypeOf[uint32](): 4,
		TypeOf[int16](): 2, TypeOf[uint16](): 2, F16: 2, BF16: 2,
		TypeOf[int8](): 1, TypeOf[uint8](): 1, Bool: 1, F8E4M3: 1, F8E5M2: 1,
		"f32": 0, "": 0,
	}
	if len(all) != 17 {
		t.Errorf("two Go types share a dtype: %v", all)
	}
	for d, size := range all {
		if d.Size() != size {
			t.Errorf("%s has %d bytes, want %d", d, d.Size(), size)
		}
	}
}

// Whatever the bytes are: no panic, no data out of the file, and what is accepted can be written again as it was.
//
// Promise: [G7] no arrays in files panic their reader, or make it allocate more than its bound
// Also: TestOpenRefusesHeaderLengths
func FuzzParse(f *testing.F) {
	f.Add(sample(f))
	f.Add(file(`{}`, ""))
	f.Add(file(`{"__metadata__":{"a":"b"},"x":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}`, "ab"))
	f.Add(file(`{"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}  `, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("error %v is of no known kind", err)
			}
			return
		}
		again, err := Parse(rewrite(t, file))
		law.Check(t, err)
		if diff := cmp.Diff(contents(t, file), contents(t, again)); diff != "" {
			t.Fatalf("written again (-before +after):\n%s", diff)
		}
	})
}

func rewrite(t *testing.T, f *File) []byte {
	var tensors []Tensor
	for _, i := range f.Tensors() {
		tensors = append(tensors, i.Tensor)
	}
	var b bytes.Buffer
	w, err := NewWriter(&b, tensors, f.Metadata())
	law.Check(t, err)
	for _, i := range f.Tensors() {
		raw, err := io.ReadAll(f.Section(i))
		if err == nil {
			err = w.Raw(i.Name, raw)
		}
		law.Check(t, err)
	}
	law.Check(t, w.Close())
	return b.Bytes()
}

// contents is everything in a file, by name.
func contents(t *testing.T, f *File) map[string]string {
	all := map[string]string{}
	for k, v := range f.Metadata() {
		all["metadata "+k] = v
	}
	for _, i := range f.Tensors() {
		raw, err := io.ReadAll(f.Section(i))
		if err != nil || int64(len(raw)) != i.Size {
			t.Fatalf("tensor %q has %d bytes, error %v", i.Name, len(raw), err)
		}
		all["tensor "+i.Name] = fmt.Sprint(i.DType, i.Shape, raw)
	}
	return all
}

// Parse is Open for a file in memory.
func Parse(data []byte) (*File, error) {
	return Open(bytes.NewReader(data), int64(len(data)))
}
