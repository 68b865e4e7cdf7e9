package files

import (
	"context"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
)

// Hash is a checksum in the making: xxHash64.
type Hash struct{ *xxhash.Digest }

// NewHash is the checksum of nothing.
func NewHash() *Hash { return &Hash{xxhash.New()} }

// String is the checksum as 16 hexadecimal digits.
func (h *Hash) String() string { return fmt.Sprintf("%016x", h.Sum64()) }

// Take adds everything that r gives, until ctx ends.
func (h *Hash) Take(ctx context.Context, r io.Reader) error {
	_, err := io.Copy(h, reader{ctx, r})
	return err
}

// SumOf is the checksum of bytes in memory.
func SumOf(b []byte) string {
	h := NewHash()
	h.Write(b)
	return h.String()
}

// SumReader is the checksum of everything that r gives, until ctx ends.
func SumReader(ctx context.Context, r io.Reader) (string, error) {
	h := NewHash()
	err := h.Take(ctx, r)
	return h.String(), err
}

// reader fails when its context ends.
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

// Ended is the cause of a context's end, nil before it.
func Ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
