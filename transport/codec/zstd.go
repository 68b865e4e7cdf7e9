package codec

import (
	"errors"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdCodec is one zstd frame at the fastest level. From 256 bytes on its header has the content's size. Encoder and
// decoder take megabytes, so they are made at the first use.
type zstdCodec struct {
	encoder func() *zstd.Encoder
	decoder func() *zstd.Decoder
}

// zstdWindow is the largest window that a frame may require. The fastest level writes windows of 4 MiB.
const zstdWindow = 8 << 20

func newZstd() *zstdCodec {
	return &zstdCodec{
		encoder: sync.OnceValue(func() *zstd.Encoder {
			return must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithZeroFrames(true)))
		}),
		decoder: sync.OnceValue(func() *zstd.Decoder {
			return must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true),
				zstd.WithDecoderMaxWindow(zstdWindow)))
		}),
	}
}

// must returns v, for constructors that fail only on wrong options, which are constants here.
func must[T any](v T, err error) T {
	if err != nil {
		panic("codec: zstd: " + err.Error())
	}
	return v
}

func (*zstdCodec) ID() byte { return zstdID }

func (*zstdCodec) Name() string { return "zstd" }

func (c *zstdCodec) Encode(dst, src []byte) []byte { return c.encoder().EncodeAll(src, dst[:0]) }

func (c *zstdCodec) Decode(dst, src []byte, max int) ([]byte, error) {
	n, err := zstdSize(src)
	if err != nil {
		return nil, corrupt("zstd", err)
	}
	if n > uint64(max) && n > zstdSmall {
		return nil, overBound("zstd", n, max)
	}
	room := min(int(n), max)
	out, err := c.decoder().DecodeAll(src, slices.Grow(dst[:0], room)[:0:room])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded) && room == max:
		return nil, overBound("zstd", n, max)
	case err != nil:
		return nil, corrupt("zstd", err)
	}
	return out, nil
}

// zstdSmall is the length up to which the encoder does not write the size.
const zstdSmall = 255

// zstdSize is the upper bound of a frame's decoded size, from its header.
func zstdSize(src []byte) (uint64, error) {
	var head zstd.Header
	err := head.Decode(src)
	switch {
	case err != nil:
		return 0, err
	case head.Skippable:
		return 0, errors.New("a frame to be skipped")
	case !head.HasFCS:
		return zstdSmall, nil
	}
	return head.FrameContentSize, nil
}
