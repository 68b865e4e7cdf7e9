package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// plainText is what a plainLog makes of pieces that come apart by a second.
func plainText(t interface{ Fatal(...any) }, pieces ...string) string {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	p := &plainLog{w: &out, now: func() time.Time { return now }}
	for _, piece := range pieces {
		if n, err := p.Write([]byte(piece)); err != nil || n != len(piece) {
			t.Fatal("Write =", n, err)
		}
		now = now.Add(time.Second)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPlainLog(t *testing.T) {
	t.Parallel()
	var bar []string
	for i := range 25 {
		bar = append(bar, "\r\x1b[Kstep "+string(rune('a'+i)))
	}
	tests := []struct {
		name string
		in   []string
		want string
	}{
		{"lines", []string{"one\ntwo\n", "three\n"}, "one\ntwo\nthree\n"},
		{"a line in pieces", []string{"on", "e\ntw", "o\n"}, "one\ntwo\n"},
		{"no end", []string{"one\ntwo"}, "one\ntwo\n"},
		{"empty lines", []string{"\n\none\n"}, "\n\none\n"},
		{"nothing", nil, ""},
		{"carriage return and newline", []string{"one\r\ntwo\r", "\n"}, "one\ntwo\n"},
		{"a line that moves", append(bar, "\n"), "step a\nstep k\nstep u\nstep y\n"},
		{"a line that moves and is left", bar, "step a\nstep k\nstep u\nstep y\n"},
		{"colours", []string{"\x1b[1;31mred\x1b[0m\n"}, "red\n"},
		{"only erased", []string{"\r\x1b[K", "\r\x1b[K"}, ""},
	}
	for _, tt := range tests {
		if got := plainText(t, tt.in...); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPlainLogBreaksEndlessLines(t *testing.T) {
	t.Parallel()
	got := plainText(t, strings.Repeat("x", 2*maxLine+5))
	want := strings.Repeat("x", maxLine) + "\n" + strings.Repeat("x", maxLine) + "\nxxxxx\n"
	if got != want {
		t.Errorf("%d bytes in %d lines", len(got), strings.Count(got, "\n"))
	}
}

// Text without carriage returns and escapes comes through as it is, however it is cut.
func TestPlainLogKeepsPlainText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.StringMatching(`[a-z é\t\n]{0,12}`)).Draw(t, "pieces")
		want := strings.Join(pieces, "")
		if want != "" && !strings.HasSuffix(want, "\n") {
			want += "\n"
		}
		if got := plainText(t, pieces...); got != want {
			t.Fatalf("%q became %q", pieces, got)
		}
	})
}
