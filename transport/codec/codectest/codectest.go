// Package codectest tests implementations of [codec.Codec]. The codecs of this module pass it, and your own should too:
//
//	func TestMine(t *testing.T) {
//		codectest.Run(t, func() codec.Codec { return NewMine() })
//	}
package codectest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/transport/codec"
)

// Run tests the codecs that build makes.
func Run(t *testing.T, build func() codec.Codec) {
	t.Run("Identity", func(t *testing.T) { identity(t, build) })
	t.Run("RoundTrip", func(t *testing.T) { roundTrip(t, build()) })
	t.Run("Memory", func(t *testing.T) { memory(t, build()) })
	t.Run("Bound", func(t *testing.T) { bound(t, build()) })
	t.Run("Damage", func(t *testing.T) { damage(t, build()) })
	t.Run("Concurrent", func(t *testing.T) { concurrent(t, build()) })
}

// Messages are the messages that Run encodes: of every kind that a fleet sends, and of awkward sizes.
func Messages() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	m := map[string][]byte{
		"empty":     {},
		"one byte":  {7},
		"zeros":     make([]byte, 1<<20),
		"text":      bytes.Repeat([]byte("worker 3 pushes table wide; "), 300),
		"gradients": make([]byte, 0, 1<<18),
		"ids":       make([]byte, 0, 1<<16),
	}
	for range 1 << 16 {
		m["gradients"] = binary.LittleEndian.AppendUint32(m["gradients"],
			math.Float32bits(float32(r.NormFloat64()*1e-3)))
	}
	id := uint64(0)
	for range 1 << 13 {
		id += uint64(r.IntN(1000))
		m["ids"] = binary.LittleEndian.AppendUint64(m["ids"], id)
	}
	for _, n := range []int{15, 16, 17, 4095, 65537} {
		noise := make([]byte, n)
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		m[fmt.Sprintf("noise %d", n)] = noise
	}
	return m
}

func identity(t *testing.T, build func() codec.Codec) {
	a, b := build(), build()
	if a.ID() != b.ID() || a.Name() != b.Name() || a.Name() == "" {
		t.Errorf("two codecs of one kind: %d %q and %d %q", a.ID(), a.Name(), b.ID(), b.Name())
	}
	const message = "what one encodes the other decodes"
	out, err := b.Decode(nil, a.Encode(nil, []byte(message)), 100)
	if err != nil || string(out) != message {
		t.Errorf("the other decodes %q, %v", out, err)
	}
}

func roundTrip(t *testing.T, c codec.Codec) {
	for name, message := range Messages() {
		before := bytes.Clone(message)
		small := c.Encode(nil, message)
		if !bytes.Equal(message, before) {
			t.Errorf("%s: Encode changed its input", name)
		}
		kept := bytes.Clone(small)
		out, err := c.Decode(nil, small, len(message))
		if err != nil || !bytes.Equal(out, message) {
			t.Errorf("%s: decodes to %d bytes, %v; want the %d encoded", name, len(out), err, len(message))
		}
		if !bytes.Equal(small, kept) {
			t.Errorf("%s: Decode changed its input", name)
		}
		if _, err := c.Decode(nil, small, len(message)+1000); err != nil {
			t.Errorf("%s: with room to spare: %v", name, err)
		}
	}
}

// memory gives every kind of destination: none, too small, just right and large, with old content.
func memory(t *testing.T, c codec.Codec) {
	message := Messages()["text"]
	want := c.Encode(nil, message)
	for _, n := range []int{0, 1, len(want), len(message), 4 * len(message)} {
		dst := bytes.Repeat([]byte{0xaa}, n)
		small := c.Encode(dst, message)
		out, err := c.Decode(bytes.Repeat([]byte{0xbb}, n), small, len(message))
		if err != nil || !bytes.Equal(out, message) {
			t.Errorf("dst of %d bytes: %d bytes, %v", n, len(out), err)
		}
	}
}

func bound(t *testing.T, c codec.Codec) {
	for name, message := range Messages() {
		if len(message) == 0 {
			continue
		}
		small := c.Encode(nil, message)
		for _, limit := range []int{0, len(message) / 2, len(message) - 1} {
			if _, err := c.Decode(nil, small, limit); !errors.Is(err, codec.ErrTooLarge) {
				t.Errorf("%s: %d bytes with a bound of %d: %v, want ErrTooLarge", name, len(message), limit, err)
			}
		}
	}
}

// damage truncates and flips; the codec may notice or not, but must neither panic nor exceed the bound.
func damage(t *testing.T, c codec.Codec) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"text", "ids", "one byte"} {
		message := Messages()[name]
		small := c.Encode(nil, message)
		for range 200 {
			bad := bytes.Clone(small)
			bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
			if r.IntN(2) == 0 {
				bad = bad[:r.IntN(len(bad))]
			}
			if out, err := c.Decode(nil, bad, len(message)); err == nil && len(out) > len(message) {
				t.Fatalf("%s: damaged message decodes to %d bytes, the bound was %d", name, len(out), len(message))
			}
		}
	}
}

func concurrent(t *testing.T, c codec.Codec) {
	messages := Messages()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for name, message := range messages {
				out, err := c.Decode(nil, c.Encode(nil, message), len(message))
				if err != nil || !bytes.Equal(out, message) {
					t.Errorf("%s: %d bytes, %v", name, len(out), err)
				}
			}
		})
	}
	wg.Wait()
}
