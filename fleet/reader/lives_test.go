package reader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/reader"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
)

// servedUntil plays a server that is killed when it is told to, and closes dead then.
func servedUntil(ctx context.Context, f *fleet.Fleet, network transport.Transport, kill <-chan struct{}, dead chan<- struct{}, play fleettest.Program) error {
	own := &trial.Cable{Transport: network}
	first, err := trial.Another(f, own)
	if err != nil {
		return err
	}
	defer first.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-kill:
			own.Kill()
			cancel()
			close(dead)
		case <-ctx.Done():
		}
	}()
	return play(ctx, first)
}

// counters is the program of a job whose worker calls work, and counts in 5,000 rows.
func counters(s strategy.Strategy, work func(ctx context.Context, c *trial.Counter) error) fleettest.Program {
	return trial.Counters(5000, s, func(ctx context.Context, _ *fleet.Fleet, c *trial.Counter) error { return work(ctx, c) })
}

// TestAServerComesBack: a server is killed in the middle of a walk over a table and comes back from its journal: the walk waits, has the
// server's rows from the beginning, and misses none. When the job has ended, the reader says which server it has waited for, and how long.
func TestAServerComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		cluster, options := readable(2, 1)
		cluster.Options.Logger = slog.New(slog.DiscardHandler)
		s := trial.Patient(strategy.Strategy{Mode: strategy.ModeAsync, Recovery: strategy.Recovery{Dir: dir + "/checkpoints",
			Every: strategy.Duration(time.Hour), Journal: strategy.JournalProcess, JournalDir: dir + "/journal"}})
		kill, dead := make(chan struct{}), make(chan struct{})
		var r *reader.Reader
		play := counters(s, func(ctx context.Context, c *trial.Counter) (err error) {
			if err := c.Train(ctx, 3); err != nil {
				return err
			}
			if r, err = reader.Open(ctx, options); err != nil {
				return err
			}
			return walkOver(ctx, t, r, c.IDs, func() { close(kill); <-dead })
		})
		trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			if f.ServerIndex() == 1 && f.IsServer() {
				if err := servedUntil(ctx, f, options.Transport, kill, dead, play); err == nil {
					t.Error("the server was not killed")
				}
				time.Sleep(5 * time.Second)
			}
			return play(ctx, f)
		}))
		began := time.Now()
		_, err := r.Rows(t.Context(), "rows", []uint64{0, 1 << 32, 2 << 32, 3 << 32})
		if waited := time.Since(began); err == nil || waited < time.Minute || waited > 2*time.Minute ||
			!strings.Contains(err.Error(), "reader: server 0 (server-0:1) has not given what was asked for 1m0s") || errors.Is(err, reader.ErrWentBack) {
			t.Errorf("behind the end of the job, after %v: %v", waited, err)
		}
	})
}

// walkOver goes over all rows, and calls kill behind the first page of server 1.
func walkOver(ctx context.Context, t *testing.T, r *reader.Reader, ids []uint64, kill func()) error {
	seen, again, pages := map[uint64]int{}, 0, 0
	err := r.Each(ctx, "rows", func(p reader.Page) error {
		if p.Again {
			again++
		}
		for i, id := range p.IDs {
			seen[id]++
			if p.W[2*i] != 3 {
				t.Errorf("row %d counts %v", id, p.W[2*i])
			}
		}
		if p.Moment.Server == 1 {
			if pages++; pages == 1 {
				kill()
			}
		}
		return nil
	})
	if again != 1 || pages < 3 {
		t.Errorf("%d pages of the server, which begins anew %d times", pages, again)
	}
	for _, id := range ids {
		if seen[id] < 1 || seen[id] > 2 {
			t.Errorf("row %d comes %d times", id, seen[id])
		}
	}
	return err
}

// TestAServerComesBackTwice: a server that comes back in the middle of a walk, and once more before its rows begin anew, has them begin
// anew.
func TestAServerComesBackTwice(t *testing.T) {
	t.Parallel()
	network := &transport.Memory{ReadToken: token}
	none, err := codec.ByName("none")
	law.Check(t, err)
	l, err := transport.Compressed(network, none, 0).Listen("server-0:1")
	law.Check(t, err)
	life := uint32(0)
	transport.HandleReads(l, func(req []byte, reply *transport.Reply) {
		var f wire.Frame
		var ask wire.Read
		var b wire.Builder
		err := errors.Join(f.Parse(req), f.JSON(&ask))
		b.Reset(wire.Header{Op: wire.OpRead, Job: 5, ServerLife: life})
		if ask.What == wire.ReadAbout {
			err = errors.Join(err, b.JSON(wire.Readable{Servers: 1, Generation: 5, Params: []wire.ReadableParam{{Name: "rows", Dim: 1, Most: 1}}}))
		} else {
			err = errors.Join(err, b.JSON(wire.ReadOut{Next: ask.From + 1, Done: ask.From == 1}))
			b.Rows(0, []uint64{ask.From}, []float32{float32(life)})
			life = min(life+1, 2)
		}
		if err != nil {
			t.Error(err)
		}
		reply.Parts = b.Parts()
	})
	served := make(chan error)
	go func() { served <- l.Serve(func([]byte, *transport.Reply) {}) }()
	defer func() { _ = l.Close(context.Background()); <-served }()
	r, err := reader.Open(t.Context(), reader.Options{Servers: []string{"server-0:1"}, Token: token, Transport: network})
	law.Check(t, err)
	var said []string
	err = r.Each(t.Context(), "rows", func(p reader.Page) error {
		said = append(said, fmt.Sprint(p.IDs, p.W, p.Again))
		return nil
	})
	if want := []string{"[0] [0] false", "[0] [2] true", "[1] [2] false"}; err != nil || !slices.Equal(said, want) {
		t.Errorf("pages %v, want %v (%v)", said, want, err)
	}
}

// TestAJobThatHasNotBegun: before worker 0 brings the first weights nothing is read, and a reader waits.
func TestAJobThatHasNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cluster, options := readable(2, 1)
		impatient, began := options, time.Now()
		impatient.Wait = time.Second
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if _, err := reader.Open(t.Context(), impatient); err == nil || !strings.Contains(err.Error(), "for 1s: server") || !strings.Contains(err.Error(), "has no weights yet") {
				t.Errorf("a reader that waits a second: %v", err)
			}
			r, err := reader.Open(t.Context(), options)
			if waited := time.Since(began); err != nil || waited < 5*time.Second || waited > 8*time.Second {
				t.Errorf("after %v: %v", waited, err)
				return
			}
			if _, err := r.Rows(t.Context(), "rows", []uint64{1}); err != nil {
				t.Error(err)
			}
		})
		cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			if f.IsWorker() {
				time.Sleep(5 * time.Second)
			}
			return counters(strategy.Async(), func(ctx context.Context, c *trial.Counter) error {
				waiting.Wait()
				return nil
			})(ctx, f)
		})
	})
}

// TestAJobThatGoesBack: behind a start from a checkpoint, or afresh, a reader says that what it has read may be newer.
func TestAJobThatGoesBack(t *testing.T) {
	t.Parallel()
	cluster, options := readable(2, 1)
	var r *reader.Reader
	for run := range 2 {
		cluster.Run(t, counters(strategy.Async(), func(ctx context.Context, c *trial.Counter) (err error) {
			if err := c.Train(ctx, 1); err != nil {
				return err
			}
			if run == 0 {
				r, err = reader.Open(ctx, options)
				return err
			}
			_, err = r.Rows(ctx, "rows", c.IDs[:10])
			each := r.Each(ctx, "rows", func(reader.Page) error { t.Error("a page is read"); return nil })
			for _, err := range []error{err, each} {
				if !errors.Is(err, reader.ErrWentBack) || !errors.Is(err, fleet.ErrWentBack) || !strings.Contains(err.Error(), "started again") {
					t.Errorf("error %v", err)
				}
			}
			return nil
		}))
	}
}

// TestReadersAreRateLimited: 200 readers that ask as fast as they can have of each server what FLEET_READ_ROWS says, each is told when
// to come again, and steps take as long as without them.
func TestReadersAreRateLimited(t *testing.T) {
	t.Parallel()
	law.Slow(t)
	var took [2]time.Duration
	var rows, refused int64
	for i, readers := range []int{0, 200} {
		synctest.Test(t, func(t *testing.T) {
			cluster, options := readable(1, 2)
			options.Wait = time.Hour
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var reading sync.WaitGroup
			begin := sync.OnceFunc(func() {
				for range readers {
					reading.Go(func() { readFast(ctx, t, options) })
				}
			})
			cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				c := trial.NewCounter(500)
				err := c.Play(ctx, f, strategy.Async(), func() error {
					return c.InSession(ctx, func(s optimizer.Session) error {
						if err := c.Steps(ctx, s, 1); err != nil {
							return err
						}
						begin()
						began := time.Now()
						for range 300 {
							if err := c.Steps(ctx, s, 1); err != nil {
								return err
							}
							time.Sleep(10 * time.Millisecond)
						}
						if f.WorkerIndex() == 0 {
							took[i] = time.Since(began)
							stop()
						}
						return nil
					})
				})
				if f.IsServer() {
					rows, refused = f.Stats().Server.ReadRows, f.Stats().Server.RefusedReads
				}
				return err
			})
			reading.Wait()
		})
	}
	if rows < 25_000 || rows > 10_000*4+500 || refused < 200 {
		t.Errorf("%d rows were read in 3 s, and %d requests were refused", rows, refused)
	}
	if took[1] > took[0]*105/100 {
		t.Errorf("300 steps took %v beside readers, and %v without", took[1], took[0])
	}
}

// TestReadRows: a reader that wants five times as much as FLEET_READ_ROWS of a second waits three, and has all of it: a second's are there,
// and the last request's are owed. Small requests count as 32 rows.
func TestReadRows(t *testing.T) {
	// Serial: it sets a variable of the environment.
	t.Setenv("FLEET_READ_ROWS", "100")
	synctest.Test(t, func(t *testing.T) {
		cluster, options := readable(1, 1)
		cluster.Run(t, counters(strategy.Async(), func(ctx context.Context, c *trial.Counter) error {
			if err := c.Train(ctx, 1); err != nil {
				return err
			}
			r, err := reader.Open(ctx, options)
			if err != nil {
				return err
			}
			time.Sleep(time.Second) // what was left out is there again
			for _, x := range []struct{ requests, rows int }{{1, 500}, {10, 1}} {
				began := time.Now()
				for range x.requests {
					if rows, err := r.Rows(ctx, "rows", c.IDs[:x.rows]); err != nil || rows.W[0] != 1 {
						t.Errorf("rows %v, %v", rows, err)
					}
				}
				if took := time.Since(began); took < 2*time.Second || took > 7*time.Second {
					t.Errorf("%d times %d rows took %v", x.requests, x.rows, took)
				}
			}
			return nil
		}))
	})
}

// TestALargeRequestAmongSmallOnes: beside thirty readers of a row each, which ask as fast as they can, one that wants a thousand rows at a
// time has them.
func TestALargeRequestAmongSmallOnes(t *testing.T) {
	t.Parallel()
	law.Slow(t)
	synctest.Test(t, func(t *testing.T) {
		cluster, options := readable(1, 1)
		options.Wait = 5 * time.Second
		cluster.Run(t, counters(strategy.Async(), func(ctx context.Context, c *trial.Counter) error {
			if err := c.Train(ctx, 1); err != nil {
				return err
			}
			r, err := reader.Open(ctx, options)
			if err != nil {
				return err
			}
			asking, stop := context.WithCancel(ctx)
			var small sync.WaitGroup
			for range 30 {
				small.Go(func() {
					for asking.Err() == nil {
						_, _ = r.Rows(asking, "rows", c.IDs[:1])
					}
				})
			}
			time.Sleep(2 * time.Second) // a second's rows are gone
			_, err = r.Rows(ctx, "rows", c.IDs[:3000])
			stop()
			small.Wait()
			return err
		}))
	})
}

func readFast(ctx context.Context, t *testing.T, o reader.Options) {
	r, err := reader.Open(ctx, o)
	for err == nil {
		_, err = r.Rows(ctx, "rows", trial.NewCounter(500).IDs)
	}
	if ctx.Err() == nil {
		t.Error(err)
	}
}

// TestWhatReadersMayAsk: by a reader's token a server answers no op but reading, and reading by no other way; it does not end
// for a request that claims to know a later life of it.
func TestWhatReadersMayAsk(t *testing.T) {
	t.Parallel()
	cluster, options := readable(1, 1)
	none, err := codec.ByName("none")
	law.Check(t, err)
	outside := transport.Compressed(options.Transport.(transport.Readable).Reader(token), none, 0)
	inside := transport.Compressed(options.Transport, none, 0)
	cluster.Run(t, counters(strategy.Async(), func(ctx context.Context, c *trial.Counter) error {
		if err := c.Train(ctx, 1); err != nil {
			return err
		}
		ask := func(by transport.Transport, h wire.Header, msg any) (f wire.Frame) {
			var b wire.Builder
			b.Reset(h)
			err := b.JSON(msg)
			if err == nil {
				err = by.Call(ctx, "server-0:1", b.Parts(), func(body []byte) error { return f.Parse(bytes.Clone(body)) })
			}
			if err != nil {
				t.Errorf("%v: %v", h.Op, err)
			}
			return f
		}
		ops := 0
		for op := wire.Op(1); !strings.HasPrefix(op.String(), "op("); op++ {
			ops++
			if op == wire.OpRead {
				continue
			}
			if f := ask(outside, wire.Header{Op: op, Life: 1, Seq: 1}, wire.Hello{}); f.Status != wire.StatusRefused || !strings.Contains(f.Refusal().Error(), "a reader can read, and nothing else") {
				t.Errorf("a reader's %v: status %d, %v", op, f.Status, f.Refusal())
			}
		}
		if ops < 24 {
			t.Errorf("%d ops", ops)
		}
		about := wire.Read{What: wire.ReadAbout}
		if f := ask(outside, wire.Header{Op: wire.OpRead}, about); f.Refusal() != nil || f.Job == 0 {
			t.Errorf("a reader asks what there is: %v, job %d", f.Refusal(), f.Job)
		}
		if f := ask(inside, wire.Header{Op: wire.OpRead}, about); f.Refusal() == nil {
			t.Error("the job's own way leads to what readers ask for")
		}
		if f := ask(outside, wire.Header{Op: wire.OpRead, ServerLife: 7}, about); !errors.Is(f.Refusal(), wire.ErrNotReady) {
			t.Errorf("of another life: %v", f.Refusal())
		}
		for what, says := range map[wire.Read]string{{What: "all"}: "can't read", {What: wire.ReadRows}: "no ids", {What: wire.ReadPage, Param: 9}: "is not an embedding"} {
			if f := ask(outside, wire.Header{Op: wire.OpRead}, what); f.Status != wire.StatusRefused || !strings.Contains(f.Refusal().Error(), says) {
				t.Errorf("%+v: %v", what, f.Refusal())
			}
		}
		var many wire.Builder
		many.Reset(wire.Header{Op: wire.OpRead})
		ids := make([]uint64, 1001)
		for i := range ids {
			ids[i] = uint64(i)
		}
		many.IDs(1, ids)
		var f wire.Frame
		err := errors.Join(many.JSON(wire.Read{What: wire.ReadRows}), outside.Call(ctx, "server-0:1", many.Parts(), func(body []byte) error { return f.Parse(bytes.Clone(body)) }))
		if err != nil || f.Status != wire.StatusRefused || !strings.Contains(f.Refusal().Error(), "1001 rows, and a request of a reader has 1000 at most") {
			t.Errorf("too many rows: %v, %v", err, f.Refusal())
		}
		return c.Train(ctx, 1) // the server is there
	}))
}
