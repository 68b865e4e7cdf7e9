package parquet

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/gofleet/gofleet/internal/files"
)

// file is an open file. It is closed when its last holder releases it.
type file struct {
	path    string
	closer  io.Closer
	groups  []parquet.RowGroup
	uses    []use // of its columns
	made    func() derivation
	holders atomic.Int32
}

// hold keeps the file open until release is called.
func (f *file) hold() { f.holders.Add(1) }

func (f *file) release() {
	if f.holders.Add(-1) == 0 {
		_ = f.closer.Close() // opened for reading only
	}
}

// openFile opens the file at path, which the caller then holds. A panic of the library on a broken file becomes an
// error.
func (f *Files) openFile(path string, uses []use) (opened *file, err error) {
	at, size, err := f.open(path)
	if err != nil {
		return nil, err
	}
	opened = &file{path: path, closer: at, uses: slices.Clone(uses), made: f.derivation}
	opened.hold()
	defer func() {
		if p := recover(); p != nil {
			err = broken(p)
		}
		if err != nil {
			opened.release()
			opened, err = nil, fmt.Errorf("dataset: %s: %w", path, err)
		}
	}()
	return opened, opened.look(at, size)
}

// broken is the error for a panic of the library.
func broken(p any) error { return fmt.Errorf("the file is broken: %v", p) }

// look finds the row groups and the columns.
func (f *file) look(at io.ReaderAt, size int64) error {
	if err := checkFooter(at, size); err != nil {
		return err
	}
	// Indexes are read when needed.
	parsed, err := parquet.OpenFile(at, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	f.groups = parsed.RowGroups()
	leaves := leavesOf(parsed)
	for i := range f.uses {
		if err := f.uses[i].find(parsed.Schema(), leaves); err != nil {
			return err
		}
	}
	return f.checkPages(parsed, io.NewSectionReader(at, 0, size))
}

// checkPages returns an error for pages that the library is known to read wrongly (v0.32.0): those packed by LZ4_RAW,
// of which it may take what was in its buffer before, booleans in runs written by another program, which it reads as
// whole bytes, and DuckDB's differences of integers that take more than 32 bits, where the format has them wrap.
func (f *file) checkPages(parsed *parquet.File, pages *io.SectionReader) error {
	for _, group := range parsed.Metadata().RowGroups {
		for _, u := range f.uses {
			chunk := &group.Columns[u.leaf].MetaData
			if chunk.Codec == format.Lz4 || chunk.Codec == format.Lz4Raw {
				return fmt.Errorf("column %q is compressed by %v, which can't be read: write it with zstd, snappy or "+
					"gzip", u.field, chunk.Codec)
			}
			if chunk.Type == format.Int32 && strings.HasPrefix(parsed.Metadata().CreatedBy, "DuckDB") &&
				slices.Contains(chunk.Encoding, format.DeltaBinaryPacked) && u.spread(&chunk.Statistics) >= 1<<31 {
				return fmt.Errorf("column %q holds integers with differences of more than 32 bits in DuckDB's "+
					"DELTA_BINARY_PACKED, which can't be read: write it by PARQUET_VERSION V1, or as BIGINT", u.field)
			}
			if chunk.Type != format.Boolean || chunk.NumValues == 0 || strings.HasPrefix(parsed.Metadata().CreatedBy,
				library) {
				continue
			}
			var page format.PageHeader
			header := bufio.NewReader(io.NewSectionReader(pages, chunk.DataPageOffset, pages.Size()))
			if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(header)).Decode(&page); err != nil {
				return fmt.Errorf("column %q: its first page: %w", u.field, err)
			}
			if page.DataPageHeader.V.Encoding == format.RLE || page.DataPageHeaderV2.V.Encoding == format.RLE {
				return fmt.Errorf("column %q holds booleans encoded as RLE, which can't be read: write it with data "+
					"pages of version 1.0 and encoding PLAIN, or as integers", u.field)
			}
		}
	}
	return nil
}

// spread returns the difference of the largest and the least integer of 32 bits; the largest possible if it is unknown.
func (u *use) spread(s *format.Statistics) int64 {
	if len(s.MinValue) != 4 || len(s.MaxValue) != 4 {
		return math.MaxInt64
	}
	least, largest := binary.LittleEndian.Uint32(s.MinValue), binary.LittleEndian.Uint32(s.MaxValue)
	if u.unsigned {
		return int64(largest) - int64(least)
	}
	return int64(int32(largest)) - int64(int32(least))
}

// library is the creator of files that the library itself has written.
const library = "github.com/parquet-go/parquet-go"

// checkFooter returns an error for a file whose footer claims to be longer than the file; the library would allocate
// that memory at once.
func checkFooter(f io.ReaderAt, size int64) error {
	var end [8]byte
	if size < int64(len(end)) {
		return fmt.Errorf("the file has %d bytes: too short for Parquet", size)
	}
	if _, err := f.ReadAt(end[:], size-int64(len(end))); err != nil && err != io.EOF {
		return err
	}
	if footer := int64(binary.LittleEndian.Uint32(end[:])); footer+int64(len(end)) > size {
		return fmt.Errorf("no Parquet file, or it is cut off: its end announces a footer of %d bytes, and the file "+
			"has %d", footer, size)
	}
	return nil
}

// readerAtCloser is the interface for reading a file.
type readerAtCloser interface {
	io.ReaderAt
	io.Closer
}

// open opens the file at path.
func (f *Files) open(path string) (readerAtCloser, int64, error) {
	var opened fs.File
	var err error
	if f.FS != nil {
		opened, err = f.FS.Open(path)
	} else if err = files.Check(path); err == nil {
		opened, err = files.Open(path)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("dataset: %w", err)
	}
	at, ok := opened.(readerAtCloser)
	if !ok {
		opened.Close()
		return nil, 0, fmt.Errorf("dataset: %s: its file system has files without ReadAt, which a Parquet file needs",
			path)
	}
	info, err := opened.Stat()
	if err != nil {
		opened.Close()
		return nil, 0, fmt.Errorf("dataset: %w", err)
	}
	return at, info.Size(), nil
}
