package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// fileCalls are the calls of a worker that write and read files, in the order in which they work.
func fileCalls(ctx context.Context, f *fleet.Fleet, o *trial.Toy, dir string) []fileCall {
	calls := []fileCall{
		{"SavePersistables", func() error { return f.SavePersistables(ctx, dir) }},
		{"SaveInferenceModel", func() error { return f.SaveInferenceModel(ctx, dir, o) }},
	}
	if f.ServerNum() > 0 || f.WorkerNum() > 1 { // others load before they join
		return calls
	}
	return append(calls, fileCall{"LoadModel", func() error { return f.LoadModel(ctx, dir) }})
}

type fileCall struct {
	name string
	do   func() error
}

// withFiles runs do on worker 0 of every kind of job.
func withFiles(t *testing.T, do func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error) {
	for _, size := range [][2]int{{0, 1}, {0, 2}, {2, 1}} {
		t.Run(fmt.Sprintf("%d servers, %d workers", size[0], size[1]), func(t *testing.T) {
			x := trial.Training{Rule: optimizer.SGD{LR: 0.1}, Strategy: strategy.Sync(), To: 2, Ahead: true}
			x.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
				if !f.IsFirstWorker() {
					return nil
				}
				return do(ctx, f, o)
			}
			x.On(t, trial.Cluster(size[0], size[1]))
		})
	}
}

// TestURLsAreNoDirectories: where a directory of this machine is wanted, a URL is refused, and makes no directory that is called
// hdfs:.
//
// Promise: [G6] a URL is no directory; a call whose context has ended touches no file
// Also: TestFilesWithAnEndedContext
func TestURLsAreNoDirectories(t *testing.T) {
	// Serial: it changes the working directory.
	t.Chdir(t.TempDir())
	refused := func(call, dir string, err error) error {
		if err == nil || !strings.Contains(err.Error(), "mount it") || !strings.HasPrefix(err.Error(), "fleet: "+call+": ") {
			return fmt.Errorf("%s(%s): got %w", call, dir, err)
		}
		return nil
	}
	urls := []string{"hdfs://nn:9000/user/me/ckpt", "s3://bucket/model"}
	withFiles(t, func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
		for _, url := range urls {
			for _, call := range fileCalls(ctx, f, o, url) {
				if err := refused(call.name, url, call.do()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	trial.NoErrors(t, trial.Cluster(1, 1).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		if err := minimized(f, optimizer.SGD{LR: 0.1}); err != nil || !f.IsServer() {
			return err
		}
		return refused("InitServer", urls[0], f.InitServer(ctx, urls[0]))
	}))
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
		t.Errorf("%v were made, error %v", entries, err)
	}
}

// TestServersGetFullNames: a directory that a worker names by its own working directory reaches servers as its full name.
func TestServersGetFullNames(t *testing.T) {
	// Serial: it changes the working directory.
	t.Chdir(t.TempDir())
	full := func(dir string) string {
		name, err := filepath.Abs(dir)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"dir":%q`, name)
	}
	var asks []func(string, [][]byte) bool
	for _, task := range []string{`"save":` + full("saved"), `"load":` + full("saved"), `"save":` + full("batch")} {
		asks = append(asks, trial.Requests(t, "server-0:1", task))
	}
	wrap := func(below transport.Transport) transport.Transport {
		return &trial.Tap{Transport: below, Before: func(endpoint string, req [][]byte) error {
			for _, met := range asks {
				met(endpoint, req)
			}
			return nil
		}}
	}
	trial.Cluster(1, 1).Simulate(t, wrap, trial.Counters(5, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		if err := errors.Join(c.Train(ctx, 1), f.SavePersistables(ctx, "saved"), f.LoadModel(ctx, "saved")); err != nil {
			return err
		}
		_, err := f.SaveModel(ctx, "batch", fleet.SaveOptions{Mode: fleet.SaveBatch})
		return err
	}))
}

// TestFilesWithAnEndedContext: a call whose ctx has ended says so, and neither writes nor reads.
func TestFilesWithAnEndedContext(t *testing.T) {
	t.Parallel()
	gone := errors.New("the user has gone")
	withFiles(t, func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
		dir := t.TempDir()
		if f.ServerNum() == 0 { // something to load
			if err := f.SavePersistables(ctx, dir); err != nil {
				return err
			}
		}
		before, err := trial.Names(dir)
		if err != nil {
			return err
		}
		ended, cancel := context.WithCancelCause(ctx)
		cancel(gone)
		calls := append(fileCalls(ended, f, o, dir), fileCall{"Rows", func() error { return weights.WriteText(io.Discard, f.Rows(ended, "emb")) }})
		for _, call := range calls {
			if err := call.do(); !errors.Is(err, gone) && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("%s: got %w, want %w", call.name, err, gone)
			}
		}
		after, err := trial.Names(dir)
		if err == nil && !slices.Equal(after, before) {
			err = fmt.Errorf("%v were there, %v are", before, after)
		}
		return err
	})
}
