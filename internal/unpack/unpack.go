// Package unpack opens files of lines: plain, gzip or zstd.
package unpack

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The first bytes of packed files. A zstd file may begin with a skippable frame, as pzstd writes it; that frame's first
// byte has 16 possible values.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	zstdSkip  = "\x50\x2a\x4d\x18"
)

// strangers maps the first bytes of files without lines of text to the advice about them.
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

// Open reads f unchanged, or through gzip or zstd if it begins with their first bytes, whatever its name. A file of
// another kind is an error that says what it is and what to do.
func Open(f io.ReadCloser) (io.ReadCloser, error) {
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
