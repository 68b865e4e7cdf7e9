package codec_test

import (
	"bytes"
	"testing"

	"github.com/gofleet/gofleet/transport/codec"
	"github.com/gofleet/gofleet/transport/codec/codectest"
)

// The decoders take anything from the network. Whatever it is, they keep to the bound, and what they accept survives another
// round trip.

// Promise: [G7] no packed message panics its reader, or makes it allocate more than its bound
// Also: FuzzZstd, FuzzGzip, TestBombs, TestLiars
func FuzzS2(f *testing.F)   { fuzz(f, "s2") }
func FuzzZstd(f *testing.F) { fuzz(f, "zstd") }
func FuzzGzip(f *testing.F) { fuzz(f, "gzip") }

func fuzz(f *testing.F, name string) {
	c, err := codec.ByName(name)
	if err != nil {
		f.Fatal(err)
	}
	for _, message := range codectest.Messages() {
		if len(message) < 10_000 {
			f.Add(c.Encode(nil, message), uint16(len(message)))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, bound uint16) {
		out, err := c.Decode(nil, src, int(bound))
		if err != nil {
			return
		}
		if len(out) > int(bound) {
			t.Fatalf("%d bytes, the bound was %d", len(out), bound)
		}
		again, err := c.Decode(nil, c.Encode(nil, out), len(out))
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("second round trip: %v", err)
		}
	})
}
