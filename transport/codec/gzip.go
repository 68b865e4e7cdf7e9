package codec

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzipCodec is one gzip member at the fastest level.
type gzipCodec struct {
	writers sync.Pool // of *gzip.Writer
	readers sync.Pool // of *gzip.Reader
}

func (*gzipCodec) ID() byte { return gzipID }

func (*gzipCodec) Name() string { return "gzip" }

func (c *gzipCodec) Encode(dst, src []byte) []byte {
	out := bytes.NewBuffer(dst[:0])
	w, ok := c.writers.Get().(*gzip.Writer)
	if ok {
		w.Reset(out)
	} else {
		w, _ = gzip.NewWriterLevel(out, gzip.BestSpeed)
	}
	_, _ = w.Write(src) // a bytes.Buffer never fails
	_ = w.Close()
	c.writers.Put(w)
	return out.Bytes()
}

func (c *gzipCodec) Decode(dst, src []byte, max int) ([]byte, error) {
	in := bytes.NewReader(src)
	r, ok := c.readers.Get().(*gzip.Reader)
	if !ok {
		r = new(gzip.Reader)
	}
	defer c.readers.Put(r)
	if err := r.Reset(in); err != nil {
		return nil, corrupt("gzip", err)
	}
	r.Multistream(false)
	out, err := readUpTo(dst[:0], r, max)
	if err != nil {
		return nil, err
	}
	if in.Len() > 0 {
		return nil, corrupt("gzip", errors.New("bytes after the end"))
	}
	return out, nil
}

// readUpTo reads all of r into dst, at most max bytes; a gzip member has no reliable length.
func readUpTo(dst []byte, r io.Reader, max int) ([]byte, error) {
	for {
		room := min(cap(dst), max)
		if len(dst) == room && room < max {
			dst = append(make([]byte, 0, min(max, 4096+2*cap(dst))), dst...)
			continue
		}
		n, err := r.Read(dst[len(dst):room])
		dst = dst[:len(dst)+n]
		switch {
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return nil, corrupt("gzip", err)
		case n == 0 && len(dst) == max:
			return dst, ended(r, max)
		}
	}
}

// ended checks that r has nothing more than the max bytes that were read.
func ended(r io.Reader, max int) error {
	var more [1]byte
	n, err := io.ReadFull(r, more[:])
	if n > 0 {
		return overBound("gzip", uint64(max)+1, max)
	}
	if err != io.EOF {
		return corrupt("gzip", err)
	}
	return nil
}
