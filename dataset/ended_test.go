package dataset

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// fifo makes a named pipe.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := exec.Command("mkfifo", path).Run(); err != nil {
		t.Skip("no named pipes here:", err)
	}
	return path
}

var errEnough = errors.New("enough of it")

// passes are the ways to read files that take a context.
var passes = map[string]func(ctx context.Context, f *Files) error{
	"Load": func(ctx context.Context, f *Files) error {
		_, err := New(f).Load(ctx)
		return err
	},
	"a share of a window": func(ctx context.Context, f *Files) error {
		_, err := passEnds(New(f).Skip(0).Shard(0, 1).ShuffleWindow(3, 1).BatchesContext(ctx, 1))
		return err
	},
	"ahead": func(ctx context.Context, f *Files) error {
		_, err := passEnds(New(f).Prefetch(2).BatchesContext(ctx, 1))
		return err
	},
	"QueueDataset": func(ctx context.Context, f *Files) error {
		d := &QueueDataset{FileList: f.Paths, Format: f.Format, PipeCommand: f.PipeCommand}
		_, err := passEnds(d.BatchesContext(ctx))
		return err
	},
	"LoadIntoMemory": func(ctx context.Context, f *Files) error {
		d := &InMemoryDataset{FileList: f.Paths, Format: f.Format, PipeCommand: f.PipeCommand}
		return d.LoadIntoMemory(ctx)
	},
	"PreloadIntoMemory": func(ctx context.Context, f *Files) error {
		d := &InMemoryDataset{FileList: f.Paths, Format: f.Format, PipeCommand: f.PipeCommand}
		if err := d.PreloadIntoMemory(ctx); err != nil {
			return err
		}
		return d.WaitPreloadDone()
	},
}

// TestSilentCommandsEndWithTheContext: whatever reads a pipe command that writes nothing more returns an error with the context's cause,
// and neither the command nor what it has started is left. The end of a named pipe shows that: they hold it open.
//
// Promise: [G4] a wait for data that does not arrive ends with its context
// Also: TestPipesEndWithTheContext
func TestSilentCommandsEndWithTheContext(t *testing.T) {
	needShell(t)
	for _, silent := range []string{"sleep 1000", "echo 1; sleep 1000 & wait", "echo 1; exec >&-; sleep 1000"} {
		for name, pass := range passes {
			held := fifo(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() {
				f := &Files{Paths: onDisk(t, "7\n"), Format: xFormat{}, PipeCommand: "exec 3>" + held + "; " + silent}
				ended <- pass(ctx, f)
			}()
			holders, err := os.Open(held) // when the command has begun
			law.Check(t, err)
			cancel(errEnough)
			if err := <-ended; !errors.Is(err, errEnough) {
				t.Errorf("%s of %q: %v", name, silent, err)
			}
			if _, err := io.ReadAll(holders); err != nil {
				t.Error(err)
			}
			holders.Close()
		}
	}
}

// TestBreakEndsASilentCommand: a loop over a queue that breaks does not wait for the batch in the making.
func TestBreakEndsASilentCommand(t *testing.T) {
	needShell(t)
	held := fifo(t)
	began := make(chan *os.File, 1)
	go func() {
		f, _ := os.Open(held)
		began <- f
	}()
	d := &QueueDataset{FileList: onDisk(t, "7\n"), Format: xFormat{}, PipeCommand: "exec 3>" + held + "; echo 1; sleep 1000"}
	for _, err := range d.Batches() {
		if err != nil {
			t.Error(err)
		}
		break
	}
	holders := <-began
	defer holders.Close()
	if _, err := io.ReadAll(holders); err != nil {
		t.Error(err)
	}
}

// TestPipesEndWithTheContext: so does reading of a file that is a pipe, by name or as a reader.
func TestPipesEndWithTheContext(t *testing.T) {
	for name, pass := range passes {
		path := fifo(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- pass(ctx, &Files{Paths: []string{path}, Format: xFormat{}}) }()
		writer, err := os.OpenFile(path, os.O_WRONLY, 0) // when the pass has begun
		law.Check(t, err)
		defer writer.Close()
		if _, err := writer.WriteString("1\n2"); err != nil {
			t.Fatal(err)
		}
		cancel(errEnough)
		if err := <-ended; !errors.Is(err, errEnough) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, w, err := os.Pipe()
	law.Check(t, err)
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	if _, err := FromReader(r, "a pipe", xFormat{}).Load(ctx); !errors.Is(err, errEnough) {
		t.Errorf("a reader: %v", err)
	}
}

// ending is a source that knows no context, and whose pass ends while a Read of it is under way.
type ending struct {
	Source
	end func()
}

func (e ending) Open(epoch int) (Reader, error) {
	r, err := e.Source.Open(epoch)
	return endingReader{r, e.end}, err
}

type endingReader struct {
	Reader
	end func()
}

func (r endingReader) Read(t *Table, n int) (int, error) {
	defer r.end()
	return r.Reader.Read(t, n)
}

// TestEndInMidRead: a context that ends while a source is read is an error, never a short success.
func TestEndInMidRead(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	d := New(ending{numbers(3).source, func() { cancel(errEnough) }})
	if _, err := d.Load(ctx); !errors.Is(err, errEnough) {
		t.Errorf("load: %v", err)
	}
	for _, ahead := range []int{0, 2} {
		ctx, cancel := context.WithCancelCause(t.Context())
		d := New(ending{numbers(30).source, func() { cancel(errEnough) }})
		if n, err := passEnds(d.Prefetch(ahead).BatchesContext(ctx, 10)); n > 1 || !errors.Is(err, errEnough) {
			t.Errorf("ahead %d: %v after %d batches", ahead, err, n)
		}
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(errEnough)
	if n, err := passEnds(numbers(3).BatchesContext(ctx, 1)); n != 0 || !errors.Is(err, errEnough) {
		t.Errorf("ended before: %v after %d batches", err, n)
	}
}
