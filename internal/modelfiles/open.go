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

// Files holds the open files of a saved model.
type Files struct {
	dir     string
	texts   map[string][]byte // the graph and the signature, if there are such
	weights []weightFile
	sum     string // the record's checksum, empty without a record
	delta   *Delta
	// generation is the generation of the job that saved a model for serving.
	generation string
}

// weightFile is a file of tensors.
type weightFile struct {
	*safetensors.File
	file files.Reading
	name string
	// stray says that the directory has a record which does not name the file.
	stray bool
}

// tensors ends the names of weight files.
const tensors = ".safetensors"

// tries is how many times a directory is read again because another model is saved into it meanwhile.
const tries = 10

// Open opens the model in a directory, and reads all of it once to verify it against its record. It returns [ErrNone]
// for a directory without a model, [ErrDamaged] for a model that differs from its record, and an error for a delta,
// which is not a model by itself.
func Open(ctx context.Context, dir string) (*Files, error) {
	f, err := openAny(ctx, dir)
	if err == nil && f.delta != nil {
		f.Close()
		return nil, fmt.Errorf("%s has %v: it is read over that, with its base first: serve.Load(base, deltas...)", dir,
			f.delta)
	}
	return f, err
}

// OpenDelta opens the delta in a directory as Open does a model, and returns what it follows.
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

// Whole reads all of the model or delta in a directory to verify it against its record.
func Whole(ctx context.Context, dir string) error {
	f, err := openAny(ctx, dir)
	if err == nil {
		f.Close()
	}
	return err
}

func openAny(ctx context.Context, dir string) (*Files, error) {
	if dir == "" {
		return nil, errors.New("the directory's name is empty")
	}
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
			f.Close() // the files may be parts of two models
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

// unsigned holds the directories without a record that were logged.
var unsigned sync.Map

// tellUnsigned logs a warning, once for a directory, about a model whose files can't be verified.
func (f *Files) tellUnsigned() {
	if _, told := unsigned.LoadOrStore(f.dir, true); !told {
		slog.Warn("a saved model has no "+Record+", so that its files can't be checked to be whole and of one "+
			"save: was it lost in a copy, or removed by hand?", "dir", f.dir)
	}
}

func same(a, b *record) bool { return a == nil && b == nil || a != nil && b != nil && a.Sum == b.Sum }

// open opens the present files of a directory.
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

// named opens a file that the record names, and verifies it.
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

// find opens a file under its temporary name or its final one.
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

// advice is for a user who has changed a directory by hand.
const advice = " (save the model again; if a file was changed on purpose, remove " + Record + ")"

// read opens a file without verifying it, if it exists.
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

// include adds an open file to the model's.
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

// others opens the files of tensors that the record does not name.
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

// Graph returns the text of graph.json, or [ErrNone].
func (f *Files) Graph() ([]byte, error) {
	if f.texts[Graph] == nil {
		return nil, fmt.Errorf("%s has no %s: %w%s", f.dir, Graph, ErrNone, near(f.dir))
	}
	return f.texts[Graph], nil
}

// Signature returns the text of signature.json, nil if there is none.
func (f *Files) Signature() []byte { return f.texts[Signature] }

// Version returns the checksum of the record, empty without one.
func (f *Files) Version() string { return f.sum }

// Generation returns the generation of the job that saved a model for serving; empty for other models.
func (f *Files) Generation() string { return f.generation }

// Version returns the version of the model in a directory; it reads only the record.
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

// Identity returns the checksum by which deltas name the present model or delta in a directory, empty without a record,
// and for a delta what it follows. It reads only the record.
func Identity(dir string) (sum string, d *Delta, err error) {
	r, err := readRecord(dir)
	if r == nil || err != nil {
		return "", nil, err
	}
	return r.Sum, r.Delta, nil
}

// Close closes the files.
func (f *Files) Close() {
	for _, w := range f.weights {
		w.file.Close()
	}
}
