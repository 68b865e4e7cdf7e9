package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCreateLog(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	old, err := createLog(dir, role{server, 3})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	f, err := createLog(dir, role{server, 3})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	io.WriteString(old, "from a job that still runs\n")
	io.WriteString(f, "new\n")
	if got, err := os.ReadFile(filepath.Join(dir, "serverlog.3")); string(got) != "new\n" {
		t.Errorf("log %q, %v", got, err)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 10_000 {
		many = append(many, fmt.Sprint("line ", i))
	}
	long := strings.Repeat("x", tailBytes)
	stack := append([]string{"goroutine 7 [running]:"}, many[:100]...)
	crashed := append([]string{"panic: out of range", ""}, stack...)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"a panic", "one\n" + strings.Join(crashed, "\n"), crashed[:tailLines]},
		{"a short panic", "one\npanic: no\n\ngoroutine 1 [running]:\nmain.main()\nexit status 2\n",
			[]string{"panic: no", "", "goroutine 1 [running]:", "main.main()", "exit status 2"}},
		{"a fatal error of many goroutines", "fatal error: all goroutines are asleep\n\ngoroutine 1 [select]:\na\n\ngoroutine 2 [select]:\nb\n",
			[]string{"fatal error: all goroutines are asleep", "", "goroutine 1 [select]:", "a", "", "goroutine 2 [select]:", "b"}},
		{"an error with a stack", "one\nown: an op panicked: no\n\ngoroutine 1 [running]:\nmain.main()\n\t/a/b.go:7 +0x1\ncreated by x in goroutine 1\n",
			[]string{"own: an op panicked: no", "", "goroutine 1 [running]:", "main.main()", "\t/a/b.go:7 +0x1", "created by x in goroutine 1"}},
		{"a panic that was survived", "http: panic serving: no\n" + strings.Join(append([]string{"goroutine 7 [running]:"}, many[:30]...), "\n"),
			many[30-tailLines : 30]},
		{"a panic that is told of, and one that was survived", "panic: of another program\none\nhttp: panic serving: no\n" +
			strings.Join(append([]string{"goroutine 7 [running]:"}, many[:30]...), "\n"), many[30-tailLines : 30]},
		{"a panic by a signal", "panic: nil\n[signal SIGSEGV: no]\n\ngoroutine 1 [running]:\nmain.main()\n",
			[]string{"panic: nil", "[signal SIGSEGV: no]", "", "goroutine 1 [running]:", "main.main()"}},
		{"a panic of an attempt before", strings.Join(crashed, "\n") + "\n" + attemptLine + " 2\n" + strings.Join(many[:30], "\n"), many[30-tailLines : 30]},
		{"a panic that is told of", "panic: of another program\n" + strings.Join(many[:30], "\n"), many[30-tailLines : 30]},
		{"empty", "", nil},
		{"blank", "\n\n\n", nil},
		{"short", "one\ntwo\n", []string{"one", "two"}},
		{"unfinished", "one\ntwo", []string{"one", "two"}},
		{"inner blank lines", "one\n\ntwo\n\n", []string{"one", "", "two"}},
		{"long", strings.Join(many, "\n") + "\n", many[len(many)-tailLines:]},
		{"a line beyond all bounds", "first\n" + long, []string{long}},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(tt.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := tail(path); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %d lines %.80q, %v", tt.name, len(got), got, err)
		}
	}
	if _, err := tail(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error for a log that is not there")
	}
}

// A log that can't be written is reported once, and the console still gets everything.
func TestTeeOutlivesItsLog(t *testing.T) {
	t.Parallel()
	con, screen := consoleOn(t, false)
	log, err := createLog(t.TempDir(), role{worker, 0})
	if err != nil {
		t.Fatal(err)
	}
	log.Close()
	two := newTee(con.out, log, con)
	for range 3 {
		if n, err := io.WriteString(two, "hello\n"); n != 6 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	two.Close()
	if got := screen(); strings.Count(got, "hello\n") != 3 || strings.Count(got, "that log is incomplete") != 1 {
		t.Errorf("screen:\n%s", got)
	}
}
