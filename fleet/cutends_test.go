package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// batchEnd is a job of two servers and two workers, in which worker 0 saves a batch: a checkpoint, and the end of a
// period that drops half of the rows. Something happens to a server as server 1 is about to get an order of that cut.
type batchEnd struct {
	strategy strategy.Strategy
	server   int
	order    string        // hold, reach, write, end or free
	kills    bool          // kill -9, where else the server is asked to end
	again    bool          // it is started again
	pages    time.Duration // what a page of a model takes, which is saved in the batch's place

	saved error // what worker 0 is told of the batch
	took  time.Duration
	ended [2]time.Duration // since then, by server, of its first process
	rows  int              // behind it, where the job goes on
	errs  map[string]error
}

const batchRows = 8

// run plays it in virtual time, with the batch in a directory.
func (b *batchEnd) run(t *testing.T, dir string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(2, 2)
		notes := trial.Requests(t, "server-1:1", fmt.Sprintf("%q:%q", "work", b.order))
		hit, over := make(chan struct{}), make(chan struct{})
		var armed, done atomic.Bool
		var began time.Time // of the batch; read behind hit
		cluster.Options.Transport = &trial.Tap{Transport: network, Before: func(endpoint string, req [][]byte) error {
			if armed.Load() && notes(endpoint, req) && done.CompareAndSwap(false, true) {
				close(hit)
				synctest.Wait()
			}
			if b.pages > 0 && strings.HasPrefix(trial.NameOf(req), "scan") {
				time.Sleep(b.pages)
			}
			return nil
		}}
		b.errs = cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			play := trial.Counters(batchRows, b.strategy, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				if err := f.BarrierWorker(ctx); err != nil {
					return err
				}
				if !f.IsFirstWorker() {
					return b.trains(ctx, c, over)
				}
				defer close(over)
				if _, err := f.Shrink(ctx, fleet.ShrinkOptions{}); err != nil {
					return err
				}
				if err := c.Train(ctx, 1); err != nil {
					return err
				}
				if _, err := f.Shrink(ctx, fleet.ShrinkOptions{}); err != nil {
					return err
				}
				c.IDs = c.IDs[:batchRows/2]
				if err := c.Train(ctx, 1); err != nil {
					return err
				}
				began = time.Now()
				armed.Store(true)
				if b.pages > 0 {
					b.saved = f.SaveInferenceModel(ctx, dir, c)
				} else {
					b.saved = failed(f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: fleet.ShrinkOptions{Unseen: 1}}))
				}
				b.took = time.Since(began)
				if err := b.trains(ctx, c, time.After(2*time.Minute)); err != nil {
					return err
				}
				return b.counts(ctx, f)
			})
			if !f.IsServer() {
				return play(ctx, f)
			}
			return b.serve(ctx, f, cluster.Options.Transport, hit, &began, play)
		})
		if !done.Load() {
			t.Log(b.errs)
		}
	})
}

// trains makes steps until it is over.
func (b *batchEnd) trains(ctx context.Context, c *trial.Counter, over any) error {
	c.IDs = c.IDs[:batchRows/2]
	for {
		if err := c.Train(ctx, 1); err != nil {
			return err
		}
		time.Sleep(time.Second / 5)
		switch over := over.(type) {
		case chan struct{}:
			select {
			case <-over:
				return nil
			default:
			}
		case <-chan time.Time:
			select {
			case <-over:
				return nil
			default:
			}
		}
	}
}

// counts counts the rows of all servers.
func (b *batchEnd) counts(ctx context.Context, f *fleet.Fleet) error {
	b.rows = 0
	for _, err := range f.Rows(ctx, "rows") {
		if err != nil {
			return err
		}
		b.rows++
	}
	return nil
}

// serve plays a server, and its second process where there is to be one.
func (b *batchEnd) serve(ctx context.Context, f *fleet.Fleet, network transport.Transport, hit chan struct{}, began *time.Time,
	play func(context.Context, *fleet.Fleet) error) error {
	if f.ServerIndex() != b.server {
		defer func() { b.ended[f.ServerIndex()] = time.Since(*began) }()
		return play(ctx, f)
	}
	own := &trial.Cable{Transport: network}
	first, err := trial.Another(f, own)
	if err != nil {
		return err
	}
	defer first.Close()
	asked, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-hit:
		case <-asked.Done():
			return
		}
		if b.kills {
			own.Kill()
		}
		end()
	}()
	err = play(asked, first)
	b.ended[b.server] = time.Since(*began)
	if !b.again {
		return err
	}
	time.Sleep(50 * time.Millisecond)
	return trial.OnNetwork(ctx, f, network, play)
}

// orders are what a batch's cut has server 1 do, in order.
var orders = []string{"hold", "reach", "write", "end", "free"}

// TestAServerIsAskedToEndInACut: at whatever order of the cut, the server serves on until the batch is whole. Without a
// journal all go back then to a checkpoint behind it; with one the server comes back, and the job goes on.
//
// Promise: [G6] a server that leads or follows a cut and is asked to end serves on until the cut is over, for a
// minute at most
// Also: TestACutIsReadToItsEnd
func TestAServerIsAskedToEndInACut(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, journal := range []bool{false, true} {
		for _, server := range trial.Some(t, []int{0, 1}) {
			for _, order := range trial.Some(t, orders) {
				t.Run(fmt.Sprintf("journal %t/server %d/%s", journal, server, order), func(t *testing.T) {
					dir := t.TempDir()
					s := trial.Patient(strategy.Async())
					if journal {
						s = journaled(s, dir, strategy.JournalProcess)
					}
					s.Recovery.Dir, s.Recovery.Every = filepath.Join(dir, "checkpoints"), strategy.Duration(time.Hour)
					b := &batchEnd{strategy: s, server: server, order: order, again: journal}
					b.run(t, filepath.Join(dir, "batch"))
					if b.saved != nil {
						t.Fatalf("the batch: %v; %v", b.saved, b.errs)
					}
					if b.ended[server] < b.took {
						t.Errorf("the server ends after %v, and the batch is whole after %v", b.ended[server], b.took)
					}
					if journal {
						for role, err := range b.errs {
							if err != nil {
								t.Errorf("%s: %v", role, err)
							}
						}
					} else {
						b.wentBack(t)
						b.goesOn(t)
					}
					if b.rows != batchRows/2 {
						t.Errorf("there are %d rows, want %d", b.rows, batchRows/2)
					}
				})
			}
		}
	}
}

// TestACutIsReadToItsEnd though server 0, which leads it and has a journal, is asked to end meanwhile.
func TestACutIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	b := &batchEnd{strategy: journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess), order: "reach", again: true, pages: 3 * time.Second}
	b.strategy.Recovery.Every = strategy.Duration(time.Hour)
	b.run(t, t.TempDir())
	if b.saved != nil || b.took < 4*time.Second || b.rows != batchRows || b.ended[0] < b.took || b.ended[0] > b.took+10*time.Second {
		t.Errorf("%d rows are read in %v, %v; server 0 ends after %v: %v", b.rows, b.took, b.saved, b.ended[0], b.errs)
	}
}

// wentBack wants all roles to have ended since a server has, but for this server.
func (b *batchEnd) wentBack(t *testing.T) {
	t.Helper()
	for role, err := range b.errs {
		if role != fmt.Sprintf("server %d", b.server) && !errors.Is(err, fleet.ErrWentBack) {
			t.Errorf("%s ends with %v", role, err)
		}
	}
}

// goesOn counts the rows of the newest checkpoint.
func (b *batchEnd) goesOn(t *testing.T) {
	t.Helper()
	b.rows = 0
	cluster := trial.Cluster(3, 1)
	cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		c := trial.NewCounter(batchRows)
		return c.Play(ctx, f, b.strategy, func() error { return b.counts(ctx, f) })
	})
}

// TestAServerDiesInACut without a journal, at whatever order of it: all go back at once, and what has the name of a
// checkpoint is a whole one.
//
// Promise: [G6] a server without a journal that is killed in a cut sends all back, at whatever order; so does a
// journal that fails at a period's end
// Also: TestAFollowerWithoutItsTables (internal/server), TestAJournalThatFailsAtTheEnd (internal/server),
// TestAServerThatEndsDoesNoOrder (internal/server)
func TestAServerDiesInACut(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, again := range []bool{false, true} {
		for server := range 2 {
			for _, order := range trial.Some(t, orders) {
				t.Run(fmt.Sprintf("again %t/server %d/%s", again, server, order), func(t *testing.T) {
					dir := t.TempDir()
					b := &batchEnd{strategy: trial.Patient(strategy.Async()), server: server, order: order, kills: true, again: again}
					b.run(t, dir)
					b.wentBack(t)
					if took := b.ended[1-server]; took > 10*time.Second {
						t.Errorf("server %d has waited for %v", 1-server, took)
					}
					text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
					if whole := order == "end" || order == "free"; (err == nil) != whole || whole && !bytes.Contains(text, []byte("parts")) {
						t.Errorf("the manifest is %.100q, %v", text, err)
					}
					if b.saved == nil && order != "free" {
						t.Error("the worker is told that its batch is whole")
					}
				})
			}
		}
	}
}
