package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// consoleOn returns a console whose two streams go to one file, and what has been written there.
func consoleOn(t *testing.T, live bool) (*console, func() string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "screen"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	con := newConsole(f, f)
	con.live = live
	return con, func() string {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func TestConsoleBreaksAMovingLine(t *testing.T) {
	t.Parallel()
	for live, want := range map[bool]string{true: "\rstep 1\nfirst\nsecond\n", false: "\rstep 1first\nsecond\n"} {
		con, screen := consoleOn(t, live)
		io.WriteString(con.out, "\rstep 1")
		con.print("first\n")
		con.print("second\n")
		if got := screen(); got != want {
			t.Errorf("live %v: screen %q, want %q", live, got, want)
		}
	}
}

func TestConsoleOutlivesItsReader(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	con := newConsole(w, w)
	if con.live {
		t.Error("a pipe is no terminal")
	}
	if n, err := io.WriteString(con.out, "lost"); n != 4 || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
}

func TestSayIsStamped(t *testing.T) {
	t.Parallel()
	con, screen := consoleOn(t, false)
	con.say("worker %d", 3)
	if got := screen(); !strings.HasPrefix(got, "INFO 20") || !strings.HasSuffix(got, " fleetrun] worker 3\n") {
		t.Errorf("said %q", got)
	}
}
