package weights

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/gofleet/gofleet/internal/safetensors"
)

// safetensorsFile is a file of tensors.
type safetensorsFile struct{ *safetensors.File }

func openSafetensors(r io.ReaderAt, size int64) (streams, error) {
	f, err := safetensors.Open(r, size)
	if err != nil {
		return nil, err
	}
	return safetensorsFile{f}, nil
}

func (f safetensorsFile) names() (all []string) {
	for _, t := range f.Tensors() {
		all = append(all, t.Name)
	}
	return all
}

func (f safetensorsFile) shape(name string) ([]int, bool) {
	t, ok := f.Tensor(name)
	return t.Shape, ok
}

func (f safetensorsFile) open(name string) (*stream, error) {
	t, ok := f.Tensor(name)
	if !ok {
		return nil, missing(name, f.names())
	}
	return newStream(t.DType, t.Shape, f.Section(t), t.Size, func() error { return nil })
}

// WriteSafetensors writes rows as a safetensors file with the two tensors of [WriteNPZ], as in a saved model. Rows are
// kept in a temporary file until all have been read (see os.TempDir).
func WriteSafetensors(w io.Writer, name string, rows iter.Seq2[Row, error]) error {
	return spooled(fmt.Sprintf("WriteSafetensors: %q", name), rows, func(s *spool) error {
		return writeSafetensors(w, name, s)
	})
}

func writeSafetensors(w io.Writer, name string, s *spool) error {
	out, err := safetensors.NewWriter(w, []safetensors.Tensor{
		{Name: name + idsSuffix, DType: safetensors.U64, Shape: []int{len(s.ids)}},
		{Name: name, DType: safetensors.F32, Shape: []int{len(s.ids), s.dim}},
	}, nil)
	if err != nil {
		return err
	}
	raw := func(name string) io.Writer { return rawTensor{out, name} }
	if err := errors.Join(s.writeIDs(raw(name+idsSuffix)), s.writeRows(raw(name))); err != nil {
		return err
	}
	return out.Close()
}

// rawTensor writes the bytes of a tensor.
type rawTensor struct {
	w    *safetensors.Writer
	name string
}

func (r rawTensor) Write(b []byte) (int, error) {
	if err := r.w.Raw(r.name, b); err != nil {
		return 0, err
	}
	return len(b), nil
}
