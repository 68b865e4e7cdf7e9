package dataset

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	local "github.com/gofleet/gofleet/internal/files"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// openFile opens a file of fsys, or of the machine or a store if fsys is nil, filters it through the command, if there
// is one, and unpacks the result if it is gzip or zstd.
func openFile(ctx context.Context, fsys fs.FS, path, command string) (io.ReadCloser, error) {
	f, err := openRaw(ctx, fsys, path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	if command != "" {
		p, err := pipeThrough(ctx, command, f)
		if err != nil {
			return nil, fmt.Errorf("dataset: %s: %w", path, err)
		}
		f = p
	} else {
		f = interruptible(ctx, f, f)
	}
	r, err := unpack(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return r, nil
}

func openRaw(ctx context.Context, fsys fs.FS, path string) (io.ReadCloser, error) {
	if fsys != nil {
		return fsys.Open(path)
	}
	if err := local.Check(path); err != nil {
		return nil, fmt.Errorf("%w, or give the dataset an FS that opens it", err)
	}
	if local.IsURL(path) {
		return local.OpenStream(ctx, path)
	}
	if st, err := os.Stat(path); err == nil && st.Mode()&fs.ModeNamedPipe != 0 {
		return openPipe(ctx, path)
	}
	return os.Open(path)
}

// openPipe opens a named pipe, which waits until something opens it for writing, or until ctx ends.
func openPipe(ctx context.Context, path string) (f *os.File, err error) {
	done := make(chan struct{})
	go func() {
		f, err = os.Open(path)
		close(done)
	}()
	select {
	case <-done:
		return f, err
	case <-ctx.Done():
	}
	for {
		if w, failed := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); failed == nil { // Open ends
			defer w.Close()
		}
		select {
		case <-done:
			if err == nil {
				err = f.Close()
			}
			return nil, errors.Join(fmt.Errorf("%s: the pipe was not opened for writing: %w", path,
				context.Cause(ctx)), err)
		case <-time.After(time.Millisecond):
		}
	}
}

// The first bytes of packed files. A zstd file may begin with a skippable frame, as pzstd writes it; that frame's first
// byte has 16 possible values.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	zstdSkip  = "\x50\x2a\x4d\x18"
)

// strangers maps the first bytes of files without lines of this package's formats to the advice about them.
var strangers = map[string]string{
	"PAR1\x15":         "it is a Parquet file: read it with package dataset/parquet",
	"PK\x03\x04":       "it is an archive, such as a zip file or a workbook: write its rows as text",
	"\xfd7zXZ\x00":     "it is packed by xz: pack it with gzip or zstd",
	"7z\xbc\xaf":       "it is packed by 7-Zip: pack it with gzip or zstd",
	"\x04\x22\x4d\x18": "it is packed by lz4: pack it with gzip or zstd",
	"\xff\xfe":         "its text is UTF-16: write it as UTF-8",
	"\xfe\xff":         "its text is UTF-16: write it as UTF-8",
}

// begins reports whether the bytes to read from b begin with magic, and waits for no more bytes than needed. Bits of
// the first byte outside mask are ignored.
func begins(b *bufio.Reader, magic string, mask byte) bool {
	for i := range len(magic) {
		head, _ := b.Peek(i + 1)
		if len(head) <= i || head[i] != magic[i] && (i > 0 || head[i]&mask != magic[i]) {
			return false
		}
	}
	return true
}

// unpacked reads the contents of a file and closes the file.
type unpacked struct {
	io.Reader
	close func() error
}

func (u unpacked) Close() error { return u.close() }

// unpack reads f unchanged, or through gzip or zstd if it begins with their first bytes, whatever its name.
func unpack(f io.ReadCloser) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(f, 64<<10)
	switch {
	case begins(b, gzipMagic, 0xff):
		z := &gunzip{b: b}
		return unpacked{cuttable{z}, f.Close}, z.next()
	case begins(b, zstdMagic, 0xff), begins(b, zstdSkip, 0xf0):
		// 1: no reading ahead
		z, err := zstd.NewReader(b, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return unpacked{nil, f.Close}, err
		}
		return unpacked{cuttable{z}, func() error { z.Close(); return f.Close() }}, nil
	}
	for magic, advice := range strangers {
		if begins(b, magic, 0xff) {
			return nil, errors.New(advice)
		}
	}
	if begins(b, "BZh", 0xff) { // and the level, and the mark of a block
		if head, _ := b.Peek(10); bytes.HasSuffix(head, []byte("1AY&SY")) {
			return nil, errors.New("it is packed by bzip2: pack it with gzip or zstd")
		}
	}
	return unpacked{b, f.Close}, nil
}

// gunzip reads the members of a gzip file, and zeros after them, with which tapes and some programs fill blocks.
type gunzip struct {
	b      *bufio.Reader
	member gzip.Reader
}

// next continues with the next member.
func (g *gunzip) next() error {
	err := g.member.Reset(g.b)
	g.member.Multistream(false)
	return err
}

func (g *gunzip) Read(p []byte) (int, error) {
	for {
		n, err := g.member.Read(p)
		if n > 0 && err == io.EOF {
			err = nil
		}
		if err != io.EOF {
			return n, err
		}
		c := byte(0)
		for err = nil; c == 0 && err == nil; {
			c, err = g.b.ReadByte()
		}
		if err == nil {
			err = errors.Join(g.b.UnreadByte(), g.next())
		}
		if err != nil {
			return 0, err
		}
	}
}

// cuttable is a packed file, which may be truncated.
type cuttable struct{ io.Reader }

func (c cuttable) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the packed file is cut off: %w", err)
	}
	return n, err
}

// maxWindow is the largest window of a zstd file, in bytes: that of zstd --long=27.
const maxWindow = 128 << 20
