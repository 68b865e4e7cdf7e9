package files

import (
	"context"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
)

// Hash computes a checksum, xxHash64.
type Hash struct{ *xxhash.Digest }

// NewHash returns the hash of no bytes.
func NewHash() *Hash { return &Hash{xxhash.New()} }

// String returns the checksum as 16 hexadecimal digits.
func (h *Hash) String() string { return fmt.Sprintf("%016x", h.Sum64()) }

// Take adds all bytes of r, until ctx ends.
func (h *Hash) Take(ctx context.Context, r io.Reader) error {
	_, err := io.Copy(h, reader{ctx, r})
	return err
}

// SumOf returns the checksum of b.
func SumOf(b []byte) string {
	h := NewHash()
	h.Write(b)
	return h.String()
}

// SumReader returns the checksum of all bytes of r; it fails when ctx ends.
func SumReader(ctx context.Context, r io.Reader) (string, error) {
	h := NewHash()
	err := h.Take(ctx, r)
	return h.String(), err
}

// reader is a reader that fails when its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := Ended(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// Ended returns the cause of a context's end, nil before it.
func Ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
