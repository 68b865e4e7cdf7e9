package rendezvous

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// Whatever arrives: no panic, no memory for what is only claimed, and what is understood can be said again.
func FuzzReceiveMessage(f *testing.F) {
	var b bytes.Buffer
	send(&b, hello{meetingVersion, "job", 1, 2, "127.0.0.1", 0})
	f.Add(b.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 9, '{'})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, again hello
		if receiveMessage(bytes.NewReader(data), &first) != nil {
			return
		}
		var b bytes.Buffer
		law.Check(t, send(&b, first))
		if err := receiveMessage(&b, &again); err != nil || again != first {
			t.Fatalf("%+v came back as %+v, error %v", first, again, err)
		}
	})
}

func TestReceiveMessageRefuses(t *testing.T) {
	for _, data := range []string{"", "\x00\x00", "\x00\x00\x00\x05{}", "\x00\x40\x00\x01", "\x00\x00\x00\x01{", "\xff\xff\xff\xff{}"} {
		var h hello
		if err := receiveMessage(strings.NewReader(data), &h); err == nil {
			t.Errorf("%q is taken for %+v", data, h)
		}
	}
	large, err := json.Marshal(strings.Repeat("x", maxMessage))
	law.Check(t, err)
	var b bytes.Buffer
	send(&b, json.RawMessage(large))
	if err := receiveMessage(&b, new(string)); err == nil || !strings.Contains(err.Error(), "is too long for the rendezvous") {
		t.Errorf("a message over the bound: error %v", err)
	}
}
