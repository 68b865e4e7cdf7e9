package transport_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
	"github.com/gofleet/gofleet/transport/codec/codectest"
)

// wire is a transport that keeps the messages that went over it.
type wire struct {
	transport.Transport
	request [][]byte
	answer  []byte
}

func (w *wire) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	w.request = append([][]byte(nil), req...)
	return w.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		w.answer = bytes.Clone(body)
		return read(body)
	})
}

// TestEnvelopes freezes the bytes before a message.
func TestEnvelopes(t *testing.T) {
	w := &wire{Transport: transport.NewMemory()}
	endpoint, _ := start(t, transport.Compressed(w, byName(t, "zstd"), 0), "server:0")
	client := transport.Compressed(w, byName(t, "zstd"), 0)
	zeros := strings.Repeat("\x00", 100_000)
	for _, c := range []struct{ message, envelope string }{ // after the length, the checksum and its mark
		{"", "0002" + "000000000000" + "@@@@@@@@" + "00000080"},
		{"small", "0002" + "050000000000" + "@@@@@@@@" + "00000080"},
		{zeros, "0202" + "a08601000000" + "@@@@@@@@" + "00000080"},
	} {
		if got, err := ask(client, endpoint, c.message); err != nil || got != c.message {
			t.Fatalf("%d bytes: %d came back, %v", len(c.message), len(got), err)
		}
		for what, got := range map[string][]byte{"request": bytes.Join(w.request, nil), "answer": w.answer} {
			sum := crc32.Update(crc32.Checksum(got[:8], crc32.MakeTable(crc32.Castagnoli)), crc32.MakeTable(crc32.Castagnoli), got[16:])
			want := strings.Replace(c.envelope, "@@@@@@@@", hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, sum)), 1)
			if hex.EncodeToString(got[:16]) != want {
				t.Errorf("%d bytes: the envelope of the %s is %x, want %s", len(c.message), what, got[:16], want)
			}
		}
	}
	if sent := len(w.request[1]) + len(w.answer); sent > 300 {
		t.Errorf("%d zeros and back took %d bytes", len(zeros), sent)
	}
}

// TestSkipsUnprofitableCompression sends what does not shrink, and looks whether it went out as it was, without a copy.
func TestSkipsUnprofitableCompression(t *testing.T) {
	noise, gradients := codectest.Messages()["noise 65537"], codectest.Messages()["gradients"]
	w := &wire{Transport: transport.NewMemory()}
	endpoint, _ := start(t, transport.Compressed(w, byName(t, "none"), 0), "server:0")
	for _, name := range codec.Names() {
		client := transport.Compressed(w, byName(t, name), 0)
		for _, message := range [][]byte{make([]byte, 1000), noise[:5000], noise, gradients} {
			head := make([]byte, 16)
			err := client.Call(t.Context(), endpoint, [][]byte{head, message}, func([]byte) error { return nil })
			law.Check(t, err)
			if len(w.request) != 3 || unsafe.SliceData(w.request[2]) != unsafe.SliceData(message) {
				t.Errorf("%s: %d bytes were copied or encoded for nothing", name, len(message))
			}
		}
	}
}

// TestMixedCodecs has clients talk to servers of other codecs: what they have encoded is refused, with both names, before it is decoded;
// messages of up to 64 KiB get through.
func TestMixedCodecs(t *testing.T) {
	net := transport.NewMemory()
	message, small := strings.Repeat("pull table wide; ", 10_000), strings.Repeat("hello; ", 9000)
	for _, serves := range codec.Names() {
		endpoint, calls := start(t, transport.Compressed(net, byName(t, serves), 0), "server:0")
		for _, name := range codec.Names() {
			w := &wire{Transport: net}
			client := transport.Compressed(w, byName(t, name), 0)
			if got, err := ask(client, endpoint, small); err != nil || got != small {
				t.Errorf("%s to %s: %d bytes, %v", name, serves, len(got), err)
			}
			served := calls.Load()
			got, err := ask(client, endpoint, message)
			if name == serves || name == "none" {
				if err != nil || got != message || w.answer[0] != byName(t, name).ID() {
					t.Errorf("%s to %s: %d bytes, codec %d, %v", name, serves, len(got), w.answer[0], err)
				}
				continue
			}
			if !errors.Is(err, transport.ErrRefused) || calls.Load() != served {
				t.Errorf("%s to %s: %v, want ErrRefused", name, serves, err)
			}
			for _, word := range []string{name, serves} {
				if !strings.Contains(fmt.Sprint(err), word) {
					t.Errorf("%s to %s: %v should speak of %s", name, serves, err, word)
				}
			}
		}
	}
}

func envelope(id, want byte, raw uint64, rest ...byte) string {
	b := binary.LittleEndian.AppendUint64(nil, raw<<16|uint64(want)<<8|uint64(id))
	return string(append(append(b, make([]byte, 8)...), rest...))
}

// plain is an encoded message of n zeros, of which the first 64 travel as they are.
func plain(c codec.Codec, n int) []byte {
	return append(make([]byte, 64), c.Encode(nil, make([]byte, n-64))...)
}

// TestBadMessages sends what no Compressed sends. The handler must not see it, and the client must learn why.
func TestBadMessages(t *testing.T) {
	net := transport.NewMemory()
	endpoint, calls := start(t, transport.Compressed(net, byName(t, "zstd"), 10_000), "server:0")
	zstd := byName(t, "zstd")
	for name, c := range map[string]struct {
		message  string
		says     string
		sentinel error
	}{
		"no envelope":       {"hello", "are not an envelope", nil},
		"nothing":           {"", "are not an envelope", nil},
		"short":             {envelope(0, 0, 5, 1, 2), "announces 5 bytes and holds 2", nil},
		"long":              {envelope(0, 0, 1, 1, 2), "announces 1 bytes and holds 2", nil},
		"unknown codec":     {envelope(99, 0, 1, 1), "number 99", nil},
		"not zstd":          {envelope(2, 0, 3, 1, 2, 3), "corrupt", nil},
		"not s2":            {envelope(1, 0, 3, 1, 2, 3), "corrupt", nil},
		"less than it says": {envelope(2, 0, 2000, plain(zstd, 1999)...), "corrupt", nil},
		"more than it says": {envelope(2, 0, 2000, plain(zstd, 2001)...), "over the bound", nil},
		"too large":         {envelope(2, 0, 1<<40, 1), "10000", transport.ErrTooLarge},
	} {
		answer, err := ask(net, endpoint, c.message)
		law.Check(t, err)
		if answer[0] != 255 || !strings.Contains(answer[16:], c.says) {
			t.Errorf("%s: answered with %q; it should speak of %q", name, answer, c.says)
		}
		if c.sentinel != nil && answer[1] != 1 {
			t.Errorf("%s: the refusal is of kind %d", name, answer[1])
		}
	}
	if calls.Load() > 0 {
		t.Error("the handler saw a bad message")
	}
}

// TestBadAnswers calls a server that is not Compressed. It has served the request, so the error must not deny it.
func TestBadAnswers(t *testing.T) {
	net := transport.NewMemory()
	for name, c := range map[string]struct {
		answer   string
		sentinel error
	}{
		"no envelope":     {"hi", nil},
		"not zstd":        {envelope(2, 0, 3, 1, 2, 3), nil},
		"refused":         {envelope(255, 2, 3, 'w', 'h', 'y'), transport.ErrRefused},
		"too large there": {envelope(255, 1, 3, 'w', 'h', 'y'), transport.ErrTooLarge},
		"kind of later":   {envelope(255, 77, 3, 'w', 'h', 'y'), nil},
		"too large":       {envelope(1, 0, 1<<40, 1), transport.ErrTooLarge},
	} {
		l, err := net.Listen("server:0")
		law.Check(t, err)
		served := make(chan error, 1)
		go func() {
			served <- l.Serve(func(_ []byte, reply *transport.Reply) { reply.Parts = [][]byte{[]byte(c.answer)} })
		}()
		_, err = ask(transport.Compressed(net, byName(t, "s2"), 10_000), l.Endpoint(), "x")
		if err == nil || !strings.Contains(err.Error(), l.Endpoint()) {
			t.Errorf("%s: %v, want an error that names %s", name, err, l.Endpoint())
		}
		for _, sentinel := range []error{transport.ErrRefused, transport.ErrTooLarge, transport.ErrUnreachable} {
			if errors.Is(err, sentinel) != (sentinel == c.sentinel) {
				t.Errorf("%s: %v, want %v", name, err, c.sentinel)
			}
		}
		if err := errors.Join(l.Close(t.Context()), <-served); err != nil {
			t.Error(err)
		}
	}
}

// TestBomb sends a few kilobytes that decode to 64 MiB to a server that allows one.
func TestBomb(t *testing.T) {
	net := transport.NewMemory()
	endpoint, calls := start(t, transport.Compressed(net, byName(t, "zstd"), 1<<20), "server:0")
	client := transport.Compressed(net, byName(t, "zstd"), 0)
	if _, err := ask(client, endpoint, strings.Repeat("warm", 1000)); err != nil {
		t.Fatal(err)
	}
	bomb := [][]byte{make([]byte, 64<<20)}
	if err := client.Call(t.Context(), endpoint, bomb, nil); !errors.Is(err, transport.ErrTooLarge) {
		t.Fatalf("%v, want ErrTooLarge", err)
	}
	lie := [][]byte{[]byte(envelope(2, 0, 1<<20)), plain(byName(t, "zstd"), 64<<20)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := net.Call(t.Context(), endpoint, lie, func(answer []byte) error {
		if answer[0] != 255 {
			t.Errorf("a bomb that lies was answered with %.100q", answer)
		}
		return nil
	})
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; err != nil || allocated > 8<<20 {
		t.Errorf("%v, and %d bytes were allocated", err, allocated)
	}
	if calls.Load() != 1 {
		t.Error("the bomb was served")
	}
}

// trimmed is a codec of a user's own: it drops trailing zeros, and says so in its name.
type trimmed struct{}

func (trimmed) ID() byte     { return 200 }
func (trimmed) Name() string { return "trimmed" }
func (trimmed) Encode(dst, src []byte) []byte {
	return append(dst[:0], bytes.TrimRight(src, "\x00")...)
}
func (trimmed) Decode(dst, src []byte, max int) ([]byte, error) {
	if len(src) > max {
		return nil, codec.ErrTooLarge
	}
	return append(append(dst[:0], src...), make([]byte, max-len(src))...), nil
}

// TestOwnCodec uses a codec that package codec does not know: fine if both sides have it, a refusal if one has not.
func TestOwnCodec(t *testing.T) {
	net := transport.NewMemory()
	message := "x" + strings.Repeat("\x00", 5000)
	own := transport.Compressed(net, trimmed{}, 0)
	endpoint, _ := start(t, own, "server:0")
	if got, err := ask(own, endpoint, message); err != nil || got != message {
		t.Errorf("both sides: %d bytes, %v", len(got), err)
	}
	stranger, calls := start(t, transport.Compressed(net, byName(t, "zstd"), 0), "server:0")
	if _, err := ask(own, stranger, message); !errors.Is(err, transport.ErrRefused) || calls.Load() > 0 {
		t.Errorf("one side: %v, want ErrRefused", err)
	}
}
