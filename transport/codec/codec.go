package codec

import (
	"errors"
	"fmt"
	"strings"
)

// Codec encodes and decodes whole messages. Implementations are safe for concurrent use.
type Codec interface {
	// ID is the codec's number on the wire. 0 to 15 belong to this package; 0 is none.
	ID() byte
	// Name is what ByName and a strategy call it.
	Name() string
	// Encode returns the encoded src. It may use dst's memory, up to its capacity; the two must not overlap.
	Encode(dst, src []byte) []byte
	// Decode returns the decoded src. It may use dst's memory, up to its capacity; the two must not overlap. If there
	// are more than max bytes in src it fails with ErrTooLarge, before it allocates them where the encoding says its
	// length, and else once it has allocated at most max bytes. What Encode cannot have written fails with ErrCorrupt.
	Decode(dst, src []byte, max int) ([]byte, error)
}

var (
	// ErrTooLarge says that a message decodes to more than the caller allows.
	ErrTooLarge = errors.New("codec: decoded message over the bound")
	// ErrCorrupt says that a message is not what the codec writes.
	ErrCorrupt = errors.New("codec: corrupt message")
)

// The numbers of the codecs on the wire. They never change.
const (
	noneID byte = 0
	s2ID   byte = 1
	zstdID byte = 2
	gzipID byte = 3
)

var table = []struct {
	id    byte
	name  string
	build func() Codec
}{
	{noneID, "none", func() Codec { return none{} }},
	{s2ID, "s2", func() Codec { return s2Codec{} }},
	{zstdID, "zstd", func() Codec { return newZstd() }},
	{gzipID, "gzip", func() Codec { return new(gzipCodec) }},
}

// ByName returns a new codec. The empty name is "none".
func ByName(name string) (Codec, error) {
	if name == "" {
		name = "none"
	}
	for _, e := range table {
		if e.name == name {
			return e.build(), nil
		}
	}
	return nil, fmt.Errorf("codec: unknown codec %q; want %s", name, strings.Join(Names(), ", "))
}

// ByID returns a new codec for a number from the wire.
func ByID(id byte) (Codec, error) {
	for _, e := range table {
		if e.id == id {
			return e.build(), nil
		}
	}
	return nil, fmt.Errorf("codec: unknown codec number %d; is the other side a newer version?", id)
}

// Names lists the codecs in the order of their numbers.
func Names() []string {
	names := make([]string, len(table))
	for i, e := range table {
		names[i] = e.name
	}
	return names
}

func overBound(name string, announced uint64, bound int) error {
	return fmt.Errorf("%w: %s announces %d bytes, the bound is %d", ErrTooLarge, name, announced, bound)
}

func corrupt(name string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, name, err)
}
