package transport

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// TestBuffers takes buffers of every size around the classes' edges, several at once, and checks that they are apart.
func TestBuffers(t *testing.T) {
	sizes := []int{0, 1, 1023, 1024, 1025, 1<<16 - 1, 1 << 16, 1<<16 + 1, 1<<23 + 1, 1 << 26, 1<<26 + 1}
	for range 2 {
		var taken []*buffer
		for i := range 2 * len(sizes) {
			n := sizes[i/2]
			b := newBuffer(n)
			if len(b.B) != n {
				t.Fatalf("a buffer of %d bytes has %d", n, len(b.B))
			}
			if n > 0 {
				b.B[0], b.B[n-1] = byte(i), byte(i)
			}
			taken = append(taken, b)
		}
		for i, b := range taken {
			if n := len(b.B); n > 0 && (b.B[0] != byte(i) || b.B[n-1] != byte(i)) {
				t.Errorf("buffer %d of %d bytes was given out twice", i, n)
			}
			b.release()
		}
	}
	(*buffer)(nil).release()
}

// TestReadBuffer reads from readers that give little at a time, too little, or an error.
func TestReadBuffer(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 40*smallMessage/16) // it grows in both ways
	for _, n := range []int{0, 1, 5000, trusted, trusted + 1, len(large)} {
		b, err := readBuffer(iotest.HalfReader(bytes.NewReader(large)), n)
		if err != nil || !bytes.Equal(b.B, large[:n]) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		b.release()
	}
	if _, err := readBuffer(bytes.NewReader(large), len(large)+1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("one byte too few: %v", err)
	}
	broken := errors.New("broken")
	if _, err := readBuffer(iotest.ErrReader(broken), 10); !errors.Is(err, broken) {
		t.Errorf("a broken reader: %v", err)
	}
}

// TestAddresses is the table of what stays on this machine.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		network, addr string
		here          bool
	}{
		{"unix", "/run/s", true},
		{"tcp4", "127.0.0.1:80", true},
		{"tcp4", "127.8.9.10:80", true},
		{"tcp6", "[::1]:80", true},
		{"tcp6", "[::ffff:127.0.0.1]:80", true},
		{"tcp4", "0.0.0.0:80", false},
		{"tcp6", "[::]:80", false},
		{"tcp4", "10.0.0.7:80", false},
		{"tcp6", "[fe80::1%lo]:80", false},
		{"tcp", "localhost:80", false}, // asked for resolved addresses only
		{"tcp", "nonsense", false},
	} {
		if got := onThisMachine(c.network, c.addr); got != c.here {
			t.Errorf("%s %s: %v", c.network, c.addr, got)
		}
	}
}
