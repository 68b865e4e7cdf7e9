package train_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// again is a role of a job that was over, which is started again: when, and for how many epochs.
type again struct {
	server bool
	index  int
	after  time.Duration
	epochs int
	// want is what it ends with, and within which time behind its start.
	want        error
	least, most time.Duration
}

// startOver is how long roles of such a job wait for others, which is less than between two of its checkpoints.
const startOver = 45 * time.Second

func (a again) String() string {
	return fmt.Sprintf("%s %d", map[bool]string{true: "server", false: "worker"}[a.server], a.index)
}

// TestRolesBehindTheEndOfTheirJob are started again in every order. Where nothing is left to do, a worker that no server answers ends
// well in half a minute, and a server to which no worker comes when a start has to be over. Whatever has more to do, or is only slow,
// waits as at a start.
//
// Promise: [G5] a role of a job that is over, started again, ends with 0 where nothing is left to train, else with 1
// Also: TestAWorkerBehindTheEndOfItsJob
func TestRolesBehindTheEndOfTheirJob(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const soon, start, slow = 31 * time.Second, startOver, startOver + 10*time.Second
	worker := func(i int, after time.Duration, want error, least, most time.Duration) again {
		return again{false, i, after, 1, want, least, most}
	}
	server := func(i int, after time.Duration, want error, least, most time.Duration) again {
		return again{true, i, after, 1, want, least, most}
	}
	longer := func(a again) again { a.epochs = 2; return a }
	first := t.TempDir()
	playAgain(t, first, []again{server(0, 0, nil, 0, slow), server(1, 0, nil, 0, slow), worker(0, 0, nil, 0, slow), worker(1, 0, nil, 0, slow)})
	for name, c := range map[string]struct {
		without string // of what the job has left
		roles   []again
	}{
		"a worker":                  {"", []again{worker(1, 0, train.ErrOver, 30*time.Second, soon)}},
		"all workers":               {"", []again{worker(0, 0, train.ErrOver, 30*time.Second, soon), worker(1, time.Minute, train.ErrOver, 30*time.Second, soon)}},
		"a worker with more epochs": {"", []again{longer(worker(0, 0, fleet.ErrMissing, start, slow))}},
		"without the model":         {"out/model/model.json", []again{worker(0, 0, train.ErrOver, start, slow)}},
		"without the mark":          {"checkpoints/job.over", []again{worker(0, 0, fleet.ErrMissing, start, slow)}},
		"a server":                  {"", []again{server(1, 0, train.ErrOver, start, slow)}},
		"all servers":               {"", []again{server(0, 0, train.ErrOver, start, slow), server(1, 0, train.ErrOver, start, slow)}},
		"a server with more epochs": {"", []again{longer(server(0, 0, fleet.ErrMissing, start, slow))}},
		"all at once": {"", []again{server(0, 0, nil, 0, soon), server(1, 0, nil, 0, soon), worker(0, 0, nil, 0, soon),
			worker(1, 0, nil, 0, soon)}},
		"slow servers": {"", []again{worker(0, 0, nil, 29*time.Second, soon), worker(1, 0, nil, 29*time.Second, soon),
			server(0, 29*time.Second, nil, 0, soon), server(1, 29*time.Second, nil, 0, soon)}},
		"a slow server": {"", []again{worker(0, 0, nil, 40*time.Second, slow), worker(1, 0, nil, 40*time.Second, slow),
			server(0, 0, nil, 40*time.Second, slow), server(1, 40*time.Second, nil, 0, slow)}},
		"servers that come too late": {"", []again{worker(0, 0, train.ErrOver, 0, soon), worker(1, 0, train.ErrOver, 0, soon),
			server(0, time.Minute, train.ErrOver, start, slow), server(1, time.Minute, train.ErrOver, start, slow)}},
		"slow servers of a job with more epochs": {"", []again{longer(worker(0, 0, nil, 40*time.Second, slow)), longer(worker(1, 0, nil, 40*time.Second, slow)),
			server(0, 40*time.Second, nil, 0, slow), server(1, 40*time.Second, nil, 0, slow)}},
		"slow workers with more epochs": {"", []again{server(0, 0, nil, 40*time.Second, slow), server(1, 0, nil, 40*time.Second, slow),
			longer(worker(0, 20*time.Second, nil, 0, slow)), longer(worker(1, 40*time.Second, nil, 0, slow))}},
		"a worker is missing": {"", []again{server(0, 0, fleet.ErrMissing, start, slow), server(1, 0, fleet.ErrMissing, start, slow),
			worker(0, 0, train.ErrOver, start, slow)}},
		"a worker of more epochs is missing": {"", []again{server(0, 0, fleet.ErrMissing, start, slow), server(1, 0, fleet.ErrMissing, start, slow),
			longer(worker(0, 0, fleet.ErrMissing, start, slow))}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			law.Check(t, os.CopyFS(dir, os.DirFS(first)))
			if c.without != "" {
				law.Check(t, os.Remove(filepath.Join(dir, c.without)))
			}
			playAgain(t, dir, c.roles)
		})
	}
}

// playAgain plays roles on a network of their own.
func playAgain(t *testing.T, dir string, roles []again) {
	synctest.Test(t, func(t *testing.T) {
		network := transport.NewMemory()
		var all sync.WaitGroup
		for _, a := range roles {
			all.Go(func() {
				time.Sleep(a.after)
				began := time.Now()
				err := a.play(dir, network)
				over := errors.Is(err, train.ErrOver) == (a.want == train.ErrOver)
				if took := time.Since(began); !errors.Is(err, a.want) || !over || took < a.least || took > a.most {
					t.Errorf("%v ended after %v with %v, want %v after %v to %v", a, took, err, a.want, a.least, a.most)
				}
			})
		}
		all.Wait()
	})
}

func (a again) play(dir string, network transport.Transport) error {
	maker := rolemaker.UserDefined{CurrentID: a.index, Role: rolemaker.Worker, WorkerNum: 2, ServerEndpoints: []string{"server-0:1", "server-1:1"}}
	if a.server {
		maker.Role = rolemaker.Server
	}
	f, err := fleet.New(context.Background(), maker, fleet.Options{Transport: network, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	j := job(train.Options{Mode: "async", Epochs: a.epochs, Batch: 20, Checkpoint: filepath.Join(dir, "checkpoints"), Out: filepath.Join(dir, "out")})
	s, err := j.Options.Strategy()
	if err != nil {
		return err
	}
	s.StartTimeout = strategy.Duration(startOver)
	j.Strategy, j.Stdout = &s, io.Discard
	_, err = j.Run(context.Background(), f)
	return err
}
