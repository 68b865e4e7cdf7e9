package twin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/strategy"
)

// A directory for checkpoints may be another job's, of another machine. While that lives the leg is refused; when it
// says nothing more the leg has the directory.

// lockFile names a directory's job, and has a number that grows while the job lives.
const lockFile = "job.lock"

// taken has a leg begin while another job has the directory of its checkpoints, which must fail and say so. That job's
// machine is gone then, and its file stays.
func (r *run) taken(t *testing.T, i int, l Leg) (err error) {
	dir := r.recovery(i)
	if r.store == nil {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	l.From, l.Calls, l.Strikes, l.Every = From{}, nil, nil, 0
	l.Strategy.Recovery = strategy.Recovery{Dir: dir}
	synctest.Test(t, func(*testing.T) {
		ctx, end := context.WithCancel(context.Background())
		defer end()
		if err = r.beat(ctx, dir, 1); err != nil {
			return
		}
		var other sync.WaitGroup
		other.Go(func() { err = r.beats(ctx, dir) })
		began := r.leg(i, l)
		end()
		if other.Wait(); err == nil && (began == nil || !strings.Contains(began.Error(), "another job saves here")) {
			err = fmt.Errorf("another job has its directory: %v", began)
		}
	})
	return err
}

// beats says that a job of another machine lives which has a directory.
func (r *run) beats(ctx context.Context, dir string) error {
	for n := 2; ; n++ {
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
			return nil
		}
		if err := r.beat(context.WithoutCancel(ctx), dir, n); err != nil {
			return err
		}
	}
}

// beat writes the file of that job, as long as it was before and in its place.
func (r *run) beat(ctx context.Context, dir string, n int) error {
	text, err := json.Marshal(map[string]any{"job": "another", "host": "elsewhere", "pid": 7, "boot": "of another",
		"since": time.Now(), "beat": n})
	if err != nil {
		return err
	}
	name, text := dir+"/"+lockFile, fmt.Appendf(nil, "%-511s\n", text)
	if r.store != nil {
		return r.writeFile(ctx, name, text)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	return errors.Join(err, f.Close())
}
