package dataset

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
)

func needShell(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh here")
	}
}

// readXs reads the rows of files of column x up to the first error.
func readXs(t *testing.T, f *Files) ([]int64, error) {
	t.Helper()
	var got []int64
	for batch, err := range New(f).Batches(1) {
		if err != nil {
			return got, err
		}
		got = append(got, batch["x"].Int64s()...)
	}
	return got, nil
}

func TestPipeCommand(t *testing.T) {
	needShell(t)
	fsys := fstest.MapFS{"a": {Data: []byte("1\n2\n3\n")}, "b": {Data: []byte("4\n")}, "z": {Data: []byte(zipped(t, "7\n8\n"))}}
	for _, c := range []struct {
		command string
		paths   []string
		want    []int64
	}{
		{"", []string{"a", "b"}, []int64{1, 2, 3, 4}},
		{"cat", []string{"a", "b"}, []int64{1, 2, 3, 4}},
		{"grep -v 2 | tr 3 9", []string{"a", "b"}, []int64{1, 9, 4}},
		{"gzip -dc", []string{"z"}, []int64{7, 8}}, // it gets the file as it lies there
		{"cat", []string{"z"}, []int64{7, 8}},      // what it writes is unpacked
		{"head -n 1", []string{"a"}, []int64{1}},   // it need not read all
		{"echo 5", []string{"a", "b"}, []int64{5, 5}},
	} {
		got, err := readXs(t, &Files{FS: fsys, Paths: c.paths, Format: xFormat{}, PipeCommand: c.command})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q of %v: %v, %v; want %v", c.command, c.paths, got, err, c.want)
		}
	}
	d := &QueueDataset{FileList: onDisk(t, "1\n2\n"), Format: xFormat{}, PipeCommand: "sed s/^/1/", BatchSize: 2}
	if got, _ := batchXs(t, d.Batches()); !slices.Equal(got, []int64{11, 12}) {
		t.Errorf("queue: %v", got)
	}
}

// TestPipeCommandFails: the pass ends with the command's exit status and last words, after the rows that it wrote.
func TestPipeCommandFails(t *testing.T) {
	needShell(t)
	for _, c := range []struct {
		command string
		rows    []int64
		words   []string
	}{
		{"head -n 1; echo no module named reader >&2; exit 3", []int64{1}, []string{"exit status 3", "last words", "no module named reader"}},
		{"false", nil, []string{`pipe command "false"`, "exit status 1", "it wrote nothing on standard error"}},
		{"no-such-program-anywhere", nil, []string{"127", "no-such-program-anywhere"}},
		{"kill -9 $$", nil, []string{"signal: killed"}},
		{"head -c 9000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 1", nil, []string{"xxxthe end"}},
	} {
		path := onDisk(t, "1\n2\n")[0]
		got, err := readXs(t, &Files{Paths: []string{path}, Format: xFormat{}, PipeCommand: c.command})
		if err == nil || !slices.Equal(got, c.rows) {
			t.Errorf("%q: rows %v, %v", c.command, got, err)
			continue
		}
		if len(err.Error()) > 1500 {
			t.Errorf("%q: an error of %d bytes", c.command, len(err.Error()))
		}
		for _, w := range append(c.words, path) {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v does not say %q", c.command, err, w)
			}
		}
	}
}

// TestPipeCommandIsEnded leaves a pass early: the command and what it has started end with it.
func TestPipeCommandIsEnded(t *testing.T) {
	needShell(t)
	rows := 0
	f := &Files{Paths: onDisk(t, "1\n"), Format: xFormat{}, PipeCommand: "(while true; do echo 1; done) | cat"}
	for _, err := range New(f).Batches(10) {
		law.Check(t, err)
		if rows += 10; rows == 100 {
			break
		}
	}
	p, err := pipeThrough(t.Context(), "sleep 1000 & echo 1; wait", readCloser("x"))
	law.Check(t, err)
	if n, err := p.Read(make([]byte, 10)); n == 0 || err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if p.run.ProcessState == nil {
		t.Error("the command has not ended")
	}
}

// TestNamedPipeEndsWithItsContext: reading a named pipe ends with its context, also while nothing has opened it for writing, or what has
// is silent.
func TestNamedPipeEndsWithItsContext(t *testing.T) {
	needShell(t)
	path := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	enough := errors.New("enough")
	var w *os.File // of the second time
	for range 2 {
		for _, wait := range []time.Duration{0, 50 * time.Millisecond} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(wait, func() { cancel(enough) })
			if _, err := FromFiles(xFormat{}, path).Load(ctx); !errors.Is(err, enough) || !strings.Contains(err.Error(), path) {
				t.Errorf("after %v: %v", wait, err)
			}
		}
		if w == nil {
			var err error
			if w, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
				t.Fatal(err)
			}
			defer w.Close()
		}
	}
	f := FromFiles(xFormat{}, path)
	w.WriteString("1\n2\n")
	time.AfterFunc(50*time.Millisecond, func() { w.Close() })
	if got := xs(t, f, 2); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("of a pipe: %v", got)
	}
}

type textFile struct{ *strings.Reader }

func (textFile) Close() error { return nil }

func readCloser(text string) textFile { return textFile{strings.NewReader(text)} }
