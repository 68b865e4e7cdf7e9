package codec_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport/codec"
	"github.com/gofleet/gofleet/transport/codec/codectest"
	"github.com/google/go-cmp/cmp"
)

func build(t testing.TB, name string) codec.Codec {
	t.Helper()
	c, err := codec.ByName(name)
	law.Check(t, err)
	return c
}

// Promise: [G3] codecs give back what they were given
func TestExam(t *testing.T) {
	law.Slow(t)
	for _, name := range codec.Names() {
		t.Run(name, func(t *testing.T) {
			codectest.Run(t, func() codec.Codec { return build(t, name) })
		})
	}
}

// TestNumbers freezes the wire: a number that changes meaning breaks fleets of two versions.
func TestNumbers(t *testing.T) {
	frozen := []string{"none", "s2", "zstd", "gzip"}
	if diff := cmp.Diff(frozen, codec.Names()); diff != "" {
		t.Fatal(diff)
	}
	for id, name := range frozen {
		c, err := codec.ByID(byte(id))
		if err != nil || c.Name() != name || c.ID() != byte(id) {
			t.Errorf("number %d is %v, %v; want %s", id, c, err, name)
		}
	}
}

// TestFrozenBytes decodes messages as they were encoded when the numbers were given.
func TestFrozenBytes(t *testing.T) {
	const text = "gofleet gofleet gofleet gofleet "
	for name, frozen := range map[string]string{
		"none": "676f666c65657420676f666c65657420676f666c65657420676f666c65657420",
		"s2":   "201c676f666c656574205e0800",
		"zstd": "28b52ffd04007d000040676f666c6565742001540803150bfa8c29ad",
		"gzip": "1f8b080000096e8804ff002000dfff676f666c65657420676f666c65657420676f666c65657420676f666c65657420" +
			"0300223ae52e20000000",
	} {
		old, err := hex.DecodeString(frozen)
		law.Check(t, err)
		out, err := build(t, name).Decode(nil, old, len(text))
		if err != nil || string(out) != text {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

func TestUnknown(t *testing.T) {
	_, err := codec.ByName("lz9")
	if err == nil || !strings.Contains(err.Error(), `"lz9"`) || !strings.Contains(err.Error(), "none, s2, zstd, gzip") {
		t.Errorf("unknown name: %v", err)
	}
	if _, err := codec.ByID(200); err == nil || !strings.Contains(err.Error(), "200") {
		t.Errorf("unknown number: %v", err)
	}
	if c, err := codec.ByName(""); err != nil || c.Name() != "none" {
		t.Errorf("the empty name is %v, %v", c, err)
	}
}

// TestBombs decodes small messages that stand for a gigabyte, and looks at what that allocates.
func TestBombs(t *testing.T) {
	const bomb, limit = 64 << 20, 1 << 20
	zeros := make([]byte, bomb)
	for _, name := range []string{"s2", "zstd", "gzip"} {
		c := build(t, name)
		small := c.Encode(nil, zeros)
		if len(small) > bomb/100 {
			t.Fatalf("%s: the bomb has %d bytes", name, len(small))
		}
		if _, err := c.Decode(nil, c.Encode(nil, []byte("warm")), 100); err != nil {
			t.Fatal(err)
		}
		allocated := allocatedBy(func() {
			if _, err := c.Decode(nil, small, limit); !errors.Is(err, codec.ErrTooLarge) {
				t.Errorf("%s: %v, want ErrTooLarge", name, err)
			}
		})
		if allocated > 4*limit {
			t.Errorf("%s: a bomb made it allocate %d bytes with a bound of %d", name, allocated, limit)
		}
	}
}

func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLiars announces one size and holds another.
func TestLiars(t *testing.T) {
	z := build(t, "zstd")
	first := bytes.Repeat([]byte("first"), 100)
	two := append(z.Encode(nil, first), z.Encode(nil, []byte("second"))...)
	if out, err := z.Decode(nil, two, 1000); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("zstd: a second frame beyond the announced size: %q, %v", out, err)
	}
	g := build(t, "gzip")
	two = append(g.Encode(nil, []byte("first")), g.Encode(nil, []byte("second"))...)
	if out, err := g.Decode(nil, two, 100); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("gzip: a second member: %q, %v", out, err)
	}
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}
	if out, err := z.Decode(nil, skippable, 100); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("zstd: a frame to be skipped: %q, %v", out, err)
	}
}

// TestBubbles uses a codec inside two bubbles of fake time and outside; nothing of one may show up in another.
func TestBubbles(t *testing.T) {
	for _, name := range codec.Names() {
		use := func(t *testing.T) {
			c := build(t, name)
			if out, err := c.Decode(nil, c.Encode(nil, []byte("x")), 1); err != nil || string(out) != "x" {
				t.Errorf("%s: %q, %v", name, out, err)
			}
		}
		synctest.Test(t, use)
		synctest.Test(t, use)
		use(t)
	}
}

// TestSteady checks that a warm codec with room to work in does not allocate.
func TestSteady(t *testing.T) {
	message := codectest.Messages()["ids"]
	for _, name := range []string{"none", "s2", "zstd"} {
		c := build(t, name)
		small, out := make([]byte, 0, 2*len(message)), make([]byte, 0, 2*len(message))
		got := testing.AllocsPerRun(50, func() {
			encoded := c.Encode(small, message)
			if again, err := c.Decode(out, encoded, len(message)); err != nil || !bytes.Equal(again, message) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if got > 1 {
			t.Errorf("%s: %v allocations a message", name, got)
		}
	}
}

func ExampleByName() {
	c, err := codec.ByName("zstd")
	if err != nil {
		fmt.Println(err)
		return
	}
	message := bytes.Repeat([]byte("push "), 200)
	small := c.Encode(nil, message)
	again, err := c.Decode(nil, small, len(message))
	fmt.Println(len(small) < 100, bytes.Equal(again, message), err)
	_, err = c.Decode(nil, small, 999)
	fmt.Println(errors.Is(err, codec.ErrTooLarge))
	// Output:
	// true true <nil>
	// true
}
