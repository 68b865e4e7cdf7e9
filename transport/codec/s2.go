package codec

import "github.com/klauspost/compress/s2"

// s2Codec is one s2 block: its length as a varint, then literals and copies.
type s2Codec struct{}

func (s2Codec) ID() byte { return s2ID }

func (s2Codec) Name() string { return "s2" }

func (s2Codec) Encode(dst, src []byte) []byte { return s2.Encode(dst[:cap(dst)], src) }

func (s2Codec) Decode(dst, src []byte, max int) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	if err != nil {
		return nil, corrupt("s2", err)
	}
	if n > max {
		return nil, overBound("s2", uint64(n), max)
	}
	out, err := s2.Decode(dst[:cap(dst)], src)
	if err != nil {
		return nil, corrupt("s2", err)
	}
	return out, nil
}
