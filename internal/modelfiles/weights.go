package modelfiles

import (
	"context"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/narrow"
	"github.com/gofleet/gofleet/internal/safetensors"
)

// Dense returns a dense parameter's elements, row-major, and its shape. Exactly one file must have it.
func (f *Files) Dense(name string) ([]float32, []int, error) {
	with, err := f.with(name)
	if err != nil {
		return nil, nil, err
	}
	if len(with) > 1 {
		return nil, nil, fmt.Errorf("%s has the weights of %q, and a second file, %s, has them too: remove one",
			with[0].name, name, with[1].name)
	}
	if len(with) == 0 {
		return nil, nil, fmt.Errorf("none of %d weight files has the weights of %q", len(f.weights), name)
	}
	w, err := safetensors.Read[float32](with[0].File, name)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", with[0].name, err)
	}
	info, _ := with[0].Tensor(name)
	return w, info.Shape, nil
}

// Has reports whether a file has a tensor of that name: a dense parameter, or an embedding's rows.
func (f *Files) Has(name string) bool {
	with, err := f.with(name)
	return err != nil || len(with) > 0
}

// Names returns the names of the tensors in the model's files, without stray ones.
func (f *Files) Names() (all []string) {
	for _, w := range f.weights {
		if w.stray {
			continue
		}
		for _, t := range w.Tensors() {
			all = append(all, t.Name)
		}
	}
	return all
}

// Origin describes the weights by the record's checksum or, without a record, by the checksum of all weight files.
func (f *Files) Origin(ctx context.Context) (string, error) {
	sum := f.sum
	if sum == "" {
		h := files.NewHash()
		for _, w := range f.weights {
			st, err := w.file.Stat()
			if err == nil {
				err = h.Take(ctx, io.NewSectionReader(w.file, 0, st.Size()))
			}
			if err != nil {
				return "", fmt.Errorf("reading %s: %w", w.name, err)
			}
		}
		sum = h.String()
	}
	return fmt.Sprintf("saved model (%s)", sum), nil
}

// with returns the files that have a tensor of that name. A file that the record does not name must not have it, since
// it would not be clear which one counts.
func (f *Files) with(name string) (all []weightFile, err error) {
	for _, w := range f.weights {
		if _, ok := w.Tensor(name); !ok {
			continue
		}
		if w.stray {
			return nil, fmt.Errorf("%s has %q, but %s does not name that file: remove the one or the other", w.name,
				name, Record)
		}
		all = append(all, w)
	}
	return all, nil
}

// rowsBytes is about the memory of the rows that Rows passes on at once.
const rowsBytes = 1 << 20

// Rows reads an embedding. It calls do with some ids and their rows at a time, len(w)/len(ids) numbers each; the slices
// are valid until do returns. Rows come in the order of the file, which is by ascending id if package fleet wrote it.
// An embedding without rows makes no call; one that is in no file is an error.
func (f *Files) Rows(name string, do func(ids []uint64, w []float32) error) error {
	with, err := f.embedding(name)
	if err != nil {
		return err
	}
	for _, w := range with {
		if err := w.rows(name, do); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// Gone returns the ids of the rows of an embedding that a delta drops.
func (f *Files) Gone(name string) ([]uint64, error) {
	for _, w := range f.weights {
		if _, has := w.Tensor(name + GoneSuffix); has && !w.stray {
			return safetensors.Read[uint64](w.File, name+GoneSuffix)
		}
	}
	return nil, nil
}

// ScaleSuffix is appended to the embedding's name in the name of the tensor that has a number for each row of I8, by
// which its numbers are multiplied.
const ScaleSuffix = ".scale"

// GoneSuffix is appended to the embedding's name in the name of the tensor that Gone reads.
const GoneSuffix = ".gone"

// RowCount returns the number of rows that Rows passes on.
func (f *Files) RowCount(name string) (n int, err error) {
	with, err := f.embedding(name)
	if err != nil {
		return 0, err
	}
	for _, w := range with {
		ids, _ := w.Tensor(name + ".ids")
		n += ids.Elements()
	}
	return n, nil
}

// embedding returns the files that have rows of an embedding, each with their ids.
func (f *Files) embedding(name string) ([]weightFile, error) {
	with, err := f.with(name)
	if err == nil && len(with) == 0 {
		err = fmt.Errorf("none of %d weight files has rows of %q: is a file missing? An embedding that has none yet "+
			"is an F32 tensor of shape [0 dim] with ids of shape [0]", len(f.weights), name)
	}
	for _, w := range with {
		if err == nil {
			err = w.check(name)
		}
	}
	return with, err
}

// check returns an error if the tensors of an embedding do not fit together.
func (w weightFile) check(name string) error {
	rows, _ := w.Tensor(name)
	_, known := w.format(name)
	ids, ok := w.Tensor(name + ".ids")
	if !ok {
		return fmt.Errorf("%s: the ids of its rows are missing: tensor %s.ids", w.name, name)
	}
	switch n, numbers := ids.Elements(), rows.Elements(); {
	case ids.DType != safetensors.U64 && ids.DType != safetensors.I64:
		return fmt.Errorf("%s: tensor %s.ids holds %s, not U64 or I64", w.name, name, ids.DType)
	case !known:
		return fmt.Errorf("%s: tensor %s holds %s, not F32, F16, or I8 with F32 scales in %s", w.name, name,
			rows.DType, name+ScaleSuffix)
	case n == 0 && numbers == 0:
		return nil
	case n == 0 || numbers%n != 0 || len(rows.Shape) > 1 && rows.Shape[0] != n:
		return fmt.Errorf("%s: %d ids for rows of shape %v of %q", w.name, n, rows.Shape, name)
	}
	return nil
}

// rows is Rows of one file.
func (w weightFile) rows(name string, do func(ids []uint64, w []float32) error) error {
	info, _ := w.Tensor(name + ".ids")
	n := info.Elements()
	if n == 0 {
		return nil
	}
	all, _ := w.Tensor(name)
	dim := all.Elements() / n
	page := min(n, max(1, rowsBytes/(8+4*dim)))
	ids, rows := make([]uint64, page), make([]float32, page*dim)
	as, _ := w.format(name)
	for at := 0; at < n; at += page {
		ids, rows = ids[:min(page, n-at)], rows[:min(page, n-at)*dim]
		if err := w.ids(info, ids, at); err != nil {
			return err
		}
		if err := w.numbers(all, as, rows, at, dim); err != nil {
			return err
		}
		if err := do(ids, rows); err != nil {
			return err
		}
	}
	return nil
}

// numbers reads rows from number at on, which are stored in some format.
func (w weightFile) numbers(t safetensors.Info, as narrow.Format, rows []float32, at, dim int) error {
	if as == narrow.Float32 {
		return safetensors.ReadAt(w.File, t.Name, rows, at*dim)
	}
	size := t.DType.Size()
	bytes, scales := make([]byte, len(rows)*size), make([]float32, len(rows)/dim)
	_, err := w.Section(t).ReadAt(bytes, int64(at*dim*size))
	if err == nil && as == narrow.Int8 {
		err = safetensors.ReadAt(w.File, t.Name+ScaleSuffix, scales, at)
	}
	if err == nil {
		its := narrow.Decoded(as, dim, nil, bytes, scales)
		its.All(rows)
	}
	return err
}

// format returns how an embedding's rows are stored; known is false for tensors that are none.
func (w weightFile) format(name string) (as narrow.Format, known bool) {
	rows, _ := w.Tensor(name)
	scales, has := w.Tensor(name + ScaleSuffix)
	switch rows.DType {
	case safetensors.F32:
		return narrow.Float32, true
	case safetensors.F16:
		return narrow.Float16, true
	case safetensors.I8:
		ids, _ := w.Tensor(name + ".ids")
		return narrow.Int8, has && scales.DType == safetensors.F32 && scales.Elements() == ids.Elements()
	}
	return "", false
}

// Format returns how the rows of an embedding are stored, in the first file that has them.
func (f *Files) Format(name string) (narrow.Format, error) {
	with, err := f.embedding(name)
	if err != nil {
		return "", err
	}
	as, _ := with[0].format(name)
	return as, nil
}

// ids reads ids from number at on.
func (w weightFile) ids(t safetensors.Info, ids []uint64, at int) error {
	if t.DType == safetensors.U64 {
		return safetensors.ReadAt(w.File, t.Name, ids, at)
	}
	signed := make([]int64, len(ids))
	err := safetensors.ReadAt(w.File, t.Name, signed, at)
	for i, id := range signed {
		ids[i] = uint64(id)
	}
	return err
}
