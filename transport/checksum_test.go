package transport_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/transport"
)

// line is a network that damages what goes over it, and does not claim otherwise.
type line struct {
	transport.Transport
	request, answer func([]byte) []byte
}

func (l *line) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	var whole []byte
	for _, part := range req {
		whole = append(whole, part...)
	}
	return l.Transport.Call(ctx, endpoint, [][]byte{l.request(whole)}, func(body []byte) error {
		return read(l.answer(append([]byte(nil), body...)))
	})
}

func intact(b []byte) []byte { return b }

// TestEveryFlippedBitIsSeen flips each bit of small messages, one at a time, on the way there and on the way back.
func TestEveryFlippedBitIsSeen(t *testing.T) {
	l := &line{Transport: transport.NewMemory()}
	for _, name := range []string{"none", "zstd"} {
		message := "gradients" + strings.Repeat("\x00", 50)
		if name == "zstd" { // large enough to be encoded
			message = strings.Repeat("gradients", 200)
		}
		z := transport.Compressed(l, byName(t, name), 0)
		endpoint, calls := start(t, z, "server:0")
		size := 0
		l.request, l.answer = func(b []byte) []byte { size = len(b); return b }, intact
		if got, err := ask(z, endpoint, message); err != nil || got != message {
			t.Fatal(err)
		}
		for bit := range size * 8 {
			flip := func(b []byte) []byte { b[bit/8] ^= 1 << (bit % 8); return b }
			calls.Store(0)
			l.request, l.answer = flip, intact
			if _, err := ask(z, endpoint, message); !errors.Is(err, transport.ErrCorrupt) || calls.Load() != 0 {
				t.Fatalf("%s: bit %d of the request: %v, want ErrCorrupt; and it was served %d times", name, bit, err, calls.Load())
			}
			l.request, l.answer = intact, flip
			if _, err := ask(z, endpoint, message); !errors.Is(err, transport.ErrCorrupt) {
				t.Fatalf("%s: bit %d of the answer: %v, want ErrCorrupt", name, bit, err)
			}
		}
	}
}

// TestCutMessages ends messages early; the error must not claim that nobody listens.
func TestCutMessages(t *testing.T) {
	l := &line{Transport: transport.NewMemory(), request: intact, answer: intact}
	z := transport.Compressed(l, byName(t, "none"), 0)
	endpoint, calls := start(t, z, "server:0")
	for n := range 16 + len("gradients") {
		cut := func(b []byte) []byte { return b[:n] }
		l.request, l.answer = cut, intact
		if _, err := ask(z, endpoint, "gradients"); !errors.Is(err, transport.ErrCorrupt) || calls.Load() != 0 {
			t.Errorf("%d bytes of a request: %v, want ErrCorrupt", n, err)
		}
		l.request, l.answer = intact, cut
		if _, err := ask(z, endpoint, "gradients"); !errors.Is(err, transport.ErrCorrupt) {
			t.Errorf("%d bytes of an answer: %v, want ErrCorrupt", n, err)
		}
		calls.Store(0)
	}
}

// TestGuards lists where messages go without a checksum.
func TestGuards(t *testing.T) {
	dir := certificates(t)
	for _, c := range []struct {
		t        interface{ Guards(endpoint string) bool }
		endpoint string
		want     bool
	}{
		{transport.NewMemory(), "anything", true},
		{&transport.FastHTTP{}, "127.0.0.1:80", true},
		{&transport.FastHTTP{}, "[::1]:80", true},
		{&transport.FastHTTP{}, "localhost:80", true},
		{&transport.FastHTTP{}, "unix:/run/a.sock", true},
		{&transport.FastHTTP{Checksum: true}, "127.0.0.1:80", false},
		{&transport.FastHTTP{Insecure: true}, "10.0.0.7:80", false},
		{&transport.FastHTTP{Insecure: true}, "trainer.example:80", false},
		{&transport.FastHTTP{TLSDir: dir}, "trainer.example:80", true},
		{&transport.FastHTTP{TLSDir: dir, Checksum: true}, "trainer.example:80", false},
	} {
		if got := c.t.Guards(c.endpoint); got != c.want {
			t.Errorf("%T guards %s: %v, want %v", c.t, c.endpoint, got, c.want)
		}
	}
}

// TestChecksumWhereAsked looks at what travels: a checksum where the transport does not guard, none where it does.
func TestChecksumWhereAsked(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		net := transport.NewMemory()
		var under transport.Transport = net
		if !guarded {
			under = struct{ transport.Transport }{net}
		}
		var request, answer byte
		l, err := net.Listen("server:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() {
			served <- l.Serve(func(req []byte, reply *transport.Reply) {
				request = req[15]
				reply.Parts = [][]byte{append([]byte(nil), req...)}
			})
		}()
		err = transport.Compressed(under, byName(t, "none"), 0).Call(t.Context(), l.Endpoint(), nil, func(b []byte) error {
			answer = byte(len(b))
			return nil
		})
		if want := map[bool]byte{false: 128, true: 0}[guarded]; err != nil || request != want || answer != 0 {
			t.Errorf("guarded %v: %v, the last byte of the envelope is %d, want %d", guarded, err, request, want)
		}
		if err := errors.Join(l.Close(t.Context()), <-served); err != nil {
			t.Error(err)
		}
	}
}

// TestTruncatedRequestReportsDamage cuts a request to less than an envelope, and flips each bit of the refusal: the caller is
// never told anything but that messages were damaged, which is worth another try.
func TestTruncatedRequestReportsDamage(t *testing.T) {
	l := &line{Transport: transport.NewMemory()}
	z := transport.Compressed(l, byName(t, "none"), 0)
	endpoint, calls := start(t, z, "server:0")
	size := 1
	for bit := 0; bit < size*8; bit++ {
		l.request = func(b []byte) []byte { return b[:7] }
		l.answer = func(b []byte) []byte { size = len(b); b[bit/8] ^= 1 << (bit % 8); return b }
		if _, err := ask(z, endpoint, "gradients"); !errors.Is(err, transport.ErrCorrupt) || errors.Is(err, transport.ErrTooLarge) {
			t.Errorf("bit %d of the refusal: %v, want ErrCorrupt", bit, err)
		}
	}
	if size < 16 || calls.Load() != 0 {
		t.Errorf("a refusal of %d bytes, %d requests served", size, calls.Load())
	}
}
