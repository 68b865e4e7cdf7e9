package modelfiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/safetensors"
)

// Files are the files of a saved model, opened.
type Files struct {
	dir     string
	texts   map[string][]byte // the graph and the signature, as far as there are such
	weights []weightFile
	sum     string // of the record, empty without one
	delta   *Delta
	// generation is that of the job which saved a model for serving.
	generation string
}

// weightFile is a file of tensors.
type weightFile struct {
	*safetensors.File
	file files.Reading
	name string
	// stray says that the directory's record does not name it.
	stray bool
}

// tensors ends the names of weight files.
const tensors = ".safetensors"

// tries is how often a directory is read anew into which another model is saved meanwhile.
const tries = 10

// Open opens the model in a directory, and reads all of it once to see that it is what its record says. A directory in
// which there is none is [ErrNone], one that is not what was saved [ErrDamaged]. A delta, which is good for nothing by
// itself, is refused.
func Open(ctx context.Context, dir string) (*Files, error) {
	f, err := openAny(ctx, dir)
	if err == nil && f.delta != nil {
		f.Close()
		return nil, fmt.Errorf("%s has %v: it is read over that, with its base first: nn.Load(base, deltas...)", dir,
			f.delta)
	}
	return f, err
}

// OpenDelta opens the delta in a directory as Open does a model, and says what it follows.
func OpenDelta(ctx context.Context, dir string) (*Files, Delta, error) {
	f, err := openAny(ctx, dir)
	if err != nil {
		return nil, Delta{}, err
	}
	if f.delta == nil {
		f.Close()
		return nil, Delta{}, fmt.Errorf("%s has a model that is whole by itself, and no delta", dir)
	}
	return f, *f.delta, nil
}

func openAny(ctx context.Context, dir string) (*Files, error) {
	if err := files.Check(dir); err != nil {
		return nil, err
	}
	var f *Files
	before, err := readRecord(dir)
	for try := 0; err == nil; try++ {
		f, err = open(ctx, dir, before)
		now, again := readRecord(dir)
		if again != nil || same(before, now) || try == tries {
			break
		}
		if err == nil {
			f.Close() // parts of two models may be among these files
		}
		before, err = now, nil
	}
	if err == nil && f.sum == "" {
		f.tellUnsigned()
	}
	if err == nil {
		return f, nil
	}
	if _, gone := files.Stat(dir); errors.Is(gone, fs.ErrNotExist) {
		err = fmt.Errorf("%w%s", err, near(dir))
	}
	return f, err
}

// unsigned are directories without a record of which the log was told.
var unsigned sync.Map

// tellUnsigned warns, once for a directory, of a model whose files can't be checked.
func (f *Files) tellUnsigned() {
	if _, told := unsigned.LoadOrStore(f.dir, true); !told {
		slog.Warn("a saved model has no "+Record+", so that nobody can say whether its files are whole and of one "+
			"save: was it lost in a copy, or removed by hand?", "dir", f.dir)
	}
}

func same(a, b *record) bool { return a == nil && b == nil || a != nil && b != nil && a.Sum == b.Sum }

// open opens the files that lie in a directory now.
func open(ctx context.Context, dir string, r *record) (*Files, error) {
	f := &Files{dir: dir, texts: map[string][]byte{}}
	if err := f.open(ctx, r); err != nil {
		f.Close()
		return nil, err
	}
	if r == nil && f.texts[Graph] == nil && len(f.weights) == 0 {
		return nil, fmt.Errorf("%s has neither %s nor files *.safetensors: %w%s", dir, Graph, ErrNone, near(dir))
	}
	return f, nil
}

func (f *Files) open(ctx context.Context, r *record) error {
	if r != nil {
		f.sum, f.delta, f.generation = r.Sum, r.Delta, r.Generation
		for _, e := range r.Files {
			if err := f.named(ctx, e); err != nil {
				return err
			}
		}
	} else if err := errors.Join(f.read(Graph), f.read(Signature)); err != nil {
		return err
	}
	return f.others(r)
}

// named opens a file that the record names, and reads it to see that it is what was saved.
func (f *Files) named(ctx context.Context, e entry) error {
	seal := files.Sealed{Bytes: e.Bytes, Sum: e.Sum, In: Record}
	file, err := f.find(e, func(name string) (files.Reading, error) { return seal.Open(ctx, name) })
	if errors.Is(err, files.ErrUnlike) {
		return fmt.Errorf("%s: %w%s: %w", e.File, err, advice, ErrDamaged)
	}
	if err != nil {
		return err
	}
	return f.include(e.File, file, false)
}

// find opens a file under the name that it was written under, or has been given since.
func (f *Files) find(e entry, open func(name string) (files.Reading, error)) (files.Reading, error) {
	file, err := open(files.Join(f.dir, e.Written))
	if errors.Is(err, fs.ErrNotExist) {
		file, err = open(files.Join(f.dir, e.File))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing, which %s names: %w: %w", e.File, Record, ErrDamaged, err)
	}
	return file, err
}

// advice is for who has written into a directory by hand.
const advice = " (save the model again; if a file was changed on purpose, remove " + Record + ")"

// read reads a file that needs no opening, if it is there.
func (f *Files) read(name string) error {
	file, err := files.Open(files.Join(f.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.include(name, file, false)
}

// include makes an open file one of the model's.
func (f *Files) include(name string, file files.Reading, stray bool) error {
	st, err := file.Stat()
	if err == nil && strings.HasSuffix(name, tensors) {
		w := weightFile{file: file, name: name, stray: stray}
		if w.File, err = safetensors.Open(file, st.Size()); err == nil {
			f.weights = append(f.weights, w)
			return nil
		}
	} else if err == nil && (name == Graph || name == Signature) {
		f.texts[name], err = io.ReadAll(io.NewSectionReader(file, 0, st.Size()))
	}
	file.Close()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// others opens the files of tensors that no record names.
func (f *Files) others(r *record) error {
	entries, err := files.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), tensors) || r.names(e.Name()) {
			continue
		}
		file, err := files.Open(files.Join(f.dir, e.Name()))
		if err != nil {
			return err
		}
		if err := f.include(e.Name(), file, r != nil); err != nil {
			return err
		}
	}
	return nil
}

// Graph is the text of graph.json.
func (f *Files) Graph() ([]byte, error) {
	if f.texts[Graph] == nil {
		return nil, fmt.Errorf("%s has no %s: %w%s", f.dir, Graph, ErrNone, near(f.dir))
	}
	return f.texts[Graph], nil
}

// Signature is the text of signature.json, nil when there is none.
func (f *Files) Signature() []byte { return f.texts[Signature] }

// Version is the checksum of the record, empty without one.
func (f *Files) Version() string { return f.sum }

// Generation is the job's that saved a model for serving; empty for other models and earlier
// versions.
func (f *Files) Generation() string { return f.generation }

// Version is that of the model in a directory, of which it reads no more than the record.
func Version(dir string) (string, error) {
	if err := files.Check(dir); err != nil {
		return "", err
	}
	r, err := readRecord(dir)
	if r == nil || err != nil {
		return "", err
	}
	return r.Sum, nil
}

// Identity is the checksum by which deltas name what lies in a directory now, empty of a model without a record, and
// what that follows if it is a delta itself. It reads no more than the record.
func Identity(dir string) (sum string, d *Delta, err error) {
	r, err := readRecord(dir)
	if r == nil || err != nil {
		return "", nil, err
	}
	return r.Sum, r.Delta, nil
}

// Close closes the files. Nothing can be lost by it.
func (f *Files) Close() {
	for _, w := range f.weights {
		w.file.Close()
	}
}
