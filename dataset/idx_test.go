package dataset

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/law"
)

func TestReadIDX(t *testing.T) {
	good := "\x00\x00\x08\x02\x00\x00\x00\x02\x00\x00\x00\x03abcdef"
	for _, text := range []string{good, zipped(t, good)} {
		x, err := ReadIDX(strings.NewReader(text))
		law.Check(t, err)
		if diff := cmp.Diff(&IDX{Dims: []int{2, 3}, Data: []byte("abcdef")}, x); diff != "" {
			t.Error(diff)
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":      {"", "no header"},
		"text":       {"label,pixel\n", "begins with 6c 61 62 65"},
		"floats":     {"\x00\x00\x0d\x01", "type 0x0d"},
		"no dims":    {"\x00\x00\x08\x00", "0 dimensions"},
		"many dims":  {"\x00\x00\x08\x09", "9 dimensions"},
		"cut header": {good[:9], "header is cut off"},
		"cut values": {good[:len(good)-1], "ends after 5 of 6 values"},
		"more":       {good + "g", "goes on after its 6 values"},
		"huge":       {"\x00\x00\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff", "more than 1073741824 values"},
		"too many":   {"\x00\x00\x08\x03\x00\x00\xff\xff\x00\x00\xff\xff\x00\x00\x00\x01", "more than"},
		"broken zip": {zipped(t, good)[:20], "unexpected EOF"},
	} {
		_, err := ReadIDX(strings.NewReader(c.text))
		if !errors.Is(err, errIDX) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// mnistFS holds two images of 2×2 to learn from and one to test, under the official names.
func mnistFS(t *testing.T) fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"train-images-idx3-ubyte":    file("\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x02\x00\xff\x33\x00\xff\x00\x00\x00"),
		"train-labels-idx1-ubyte.gz": file(zipped(t, "\x00\x00\x08\x01\x00\x00\x00\x02\x07\x03")),
		"t10k-images-idx3-ubyte.gz":  file(zipped(t, "\x00\x00\x08\x03\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x00")),
		"t10k-labels-idx1-ubyte":     file("\x00\x00\x08\x01\x00\x00\x00\x01\x09"),
	}
}

func TestMNIST(t *testing.T) {
	train, test, err := MNIST(mnistFS(t))
	law.Check(t, err)
	for batch, err := range train.Batches(5) {
		law.Check(t, err)
		if diff := cmp.Diff([]int{2, 1, 2, 2}, []int(batch["img"].Shape())); diff != "" {
			t.Error(diff)
		}
		want := []float32{-1, 1, -0.6, -1, 1, -1, -1, -1}
		if diff := cmp.Diff(want, batch["img"].Data()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int64{7, 3}, batch["label"].Data()); diff != "" {
			t.Error(diff)
		}
	}
	if n, known := test.Len(); n != 1 || !known {
		t.Errorf("%d rows to test", n)
	}
}

func TestMNISTRefuses(t *testing.T) {
	const images, labels = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
	for name, c := range map[string]struct {
		file, text string
		want       string
	}{
		"no images":     {images, "", "train-images-idx3-ubyte, plain or .gz"},
		"fewer labels":  {labels, "\x00\x00\x08\x01\x00\x00\x00\x01\x07", "labels has dimensions [1], want [2]"},
		"labels twice":  {labels, "\x00\x00\x08\x02\x00\x00\x00\x02\x00\x00\x00\x01\x07\x03", "labels has dimensions [2 1], want [2]"},
		"flat images":   {images, "\x00\x00\x08\x02\x00\x00\x00\x02\x00\x00\x00\x01ab", "images has dimensions [2 1], want [N, height, width]"},
		"empty images":  {images, "\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x00", "images has dimensions [2 2 0]"},
		"class ten":     {labels, "\x00\x00\x08\x01\x00\x00\x00\x02\x07\x0a", "number 1 is 10, want 0 to 9"},
		"broken images": {images, "x", "train-images-idx3-ubyte: dataset: idx file"},
	} {
		fsys := mnistFS(t)
		delete(fsys, c.file+".gz")
		delete(fsys, c.file)
		if c.text != "" {
			fsys[c.file] = &fstest.MapFile{Data: []byte(c.text)}
		}
		_, _, err := MNIST(fsys)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.text == "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
