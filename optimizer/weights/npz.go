package weights

import (
	"archive/zip"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
)

// WriteNPZ writes rows as a file of numpy with two arrays, by ascending id: the ids, uint64 [rows], named name.ids, and
// the rows, float32 [rows dim], named name. Rows are kept in a temporary file until all have been read (see
// os.TempDir).
//
//	a = numpy.load("user.npz"); a["user.ids"]; a["user"]
func WriteNPZ(w io.Writer, name string, rows iter.Seq2[Row, error]) error {
	return spooled(fmt.Sprintf("WriteNPZ: %q", name), rows, func(s *spool) error { return writeNPZ(w, name, s) })
}

func writeNPZ(w io.Writer, name string, s *spool) error {
	z := zip.NewWriter(w)
	part := func(name string, header []byte, write func(io.Writer) error) error {
		out, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy"}) // stored, as numpy.savez does
		if err == nil {
			_, err = out.Write(header)
		}
		if err == nil {
			err = write(out)
		}
		return err
	}
	err := part(name+idsSuffix, npyHeader("<u8", len(s.ids)), s.writeIDs)
	if err == nil {
		err = part(name, npyHeader("<f4", len(s.ids), s.dim), s.writeRows)
	}
	if err != nil {
		return err
	}
	return z.Close()
}

// npzFile is a zip file of arrays.
type npzFile struct {
	entries map[string]*zip.File
}

func openNPZ(r io.ReaderAt, size int64) (streams, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	f := npzFile{map[string]*zip.File{}}
	for _, e := range z.File {
		name, ok := strings.CutSuffix(e.Name, ".npy")
		if !ok {
			return nil, fmt.Errorf("it holds %q, and a file of numpy holds arrays alone", e.Name)
		}
		if f.entries[name] != nil {
			return nil, fmt.Errorf("it holds the array %q twice", name)
		}
		f.entries[name] = e
	}
	return f, nil
}

func (f npzFile) names() []string { return slices.Collect(maps.Keys(f.entries)) }

func (f npzFile) shape(name string) ([]int, bool) {
	if f.entries[name] == nil {
		return nil, false
	}
	s, err := f.open(name)
	if err != nil {
		return nil, true // the error comes when it is read
	}
	defer s.close()
	return s.shape, true
}

func (f npzFile) open(name string) (*stream, error) {
	e := f.entries[name]
	if e == nil {
		return nil, missing(name, f.names())
	}
	r, err := e.Open()
	if err != nil {
		return nil, fmt.Errorf("array %q: %w", name, err)
	}
	s, err := openNPY(r, int64(e.UncompressedSize64), r.Close)
	if err != nil {
		return nil, fmt.Errorf("array %q: %w", name, err)
	}
	return s, nil
}
