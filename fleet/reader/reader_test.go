package reader_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/reader"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

const token = "for readers alone"

// readable is a cluster on a network of its own, whose servers have a token of readers.
func readable(servers, workers int) (fleettest.Cluster, reader.Options) {
	network := transport.NewMemory()
	network.ReadToken = token
	c := trial.Cluster(servers, workers)
	c.Options.Transport = network
	o := reader.Options{Token: token, Transport: network}
	for i := range servers {
		o.Servers = append(o.Servers, fmt.Sprintf("server-%d:1", i))
	}
	return c, o
}

// all are the rows of a table, and moments of each server in order.
func all(ctx context.Context, r *reader.Reader, name string, dim int) (rows map[uint64][]float32, moments []reader.Moment, err error) {
	rows = map[uint64][]float32{}
	err = r.Each(ctx, name, func(p reader.Page) error {
		for i, id := range p.IDs {
			if _, twice := rows[id]; twice {
				return fmt.Errorf("row %d comes twice", id)
			}
			rows[id] = p.W[i*dim:][:dim]
		}
		moments = append(moments, p.Moment)
		return nil
	})
	return rows, moments, err
}

// TestModes: in every mode with servers, what is read by ids and page by page is what the tables have, of embeddings with a height and
// without.
func TestModes(t *testing.T) {
	t.Parallel()
	law.Slow(t)
	for _, mode := range strategy.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s, err := strategy.Named(string(mode))
			if err != nil {
				t.Fatal(err)
			}
			cluster, options := readable(3, 2)
			cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				o := trial.NewToy()
				rule := optimizer.Rule(optimizer.Adam{LR: 0.1})
				if mode == strategy.ModeGeo {
					rule = optimizer.SGD{LR: 0.1}
				}
				return trial.Play(ctx, f, o, rule, s, func() error {
					for step := range 5 {
						if err := o.Train(ctx, trial.Share(f, step), nil); err != nil {
							return err
						}
					}
					if err := errors.Join(o.Trainer.EndEpoch(ctx), o.Close(ctx), f.BarrierWorker(ctx)); err != nil || f.WorkerIndex() != 0 {
						return errors.Join(err, f.BarrierWorker(ctx))
					}
					return errors.Join(same(ctx, f, options, "emb", 50_000, 4), same(ctx, f, options, "open", 0, 2), f.BarrierWorker(ctx))
				})
			})
		})
	}
}

// same compares what a reader reads with a worker's own way.
func same(ctx context.Context, f *fleet.Fleet, o reader.Options, name string, height, dim int) error {
	o.Params = []reader.Param{{Name: name, Dim: dim, Height: height}}
	r, err := reader.Open(ctx, o)
	if err != nil {
		return err
	}
	defer r.Close()
	pages, _, err := all(ctx, r, name, dim)
	if err != nil {
		return err
	}
	ids := []uint64{3, 49_999, 3, 7} // of which there may be no row, and one twice
	has := []bool{false, false, false, false}
	for row, err := range f.Rows(ctx, name) {
		if err != nil {
			return err
		}
		if !slices.Equal(pages[row.ID], row.W) {
			return fmt.Errorf("%s: row %d is %v, and %v was read", name, row.ID, row.W, pages[row.ID])
		}
		delete(pages, row.ID)
		ids, has = append(ids, row.ID), append(has, true)
		for i := range 4 {
			has[i] = has[i] || ids[i] == row.ID
		}
	}
	if len(pages) > 0 || len(ids) < 24 {
		return fmt.Errorf("%s: %d rows were read that are not there; there are %d", name, len(pages), len(ids)-4)
	}
	rows, err := r.Rows(ctx, name, ids)
	if err != nil {
		return err
	}
	if !slices.Equal(rows.Has, has) || rows.Moments[0] != rows.Moments[2] || rows.Moments[5].Update == 0 {
		return fmt.Errorf("%s: there are rows of %v, want %v; moments %v", name, rows.Has, has, rows.Moments[:6])
	}
	i := 0
	for row, err := range f.Rows(ctx, name) { // in the same order
		if err != nil || !slices.Equal(rows.W[(4+i)*dim:][:dim], row.W) {
			return fmt.Errorf("%s: row %d is %v, and %v was read (%v)", name, row.ID, row.W, rows.W[(4+i)*dim:][:dim], err)
		}
		i++
	}
	if missing := slices.IndexFunc(has, func(is bool) bool { return !is }); missing >= 0 {
		zeros := slices.Equal(rows.W[missing*dim:][:dim], make([]float32, dim))
		if zeros != (height == 0) {
			return fmt.Errorf("%s: a row that is not there reads as %v", name, rows.W[missing*dim:][:dim])
		}
	}
	return nil
}

// TestBits: three workers train the same bits in sync whether two readers read as fast as they are let or not.
func TestBits(t *testing.T) {
	t.Parallel()
	law.Slow(t)
	train := func(read bool) map[uint64][]float32 {
		var end map[uint64][]float32
		cluster, options := readable(2, 3)
		stop := make(chan struct{})
		var readers sync.WaitGroup
		begin := sync.OnceFunc(func() {
			for range 2 {
				readers.Go(func() { readUntil(t, options, stop) })
			}
		})
		cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			o := trial.NewToy()
			return trial.Play(ctx, f, o, optimizer.Adam{LR: 0.1}, strategy.Sync(), func() error {
				for step := range 40 {
					if read && step == 1 {
						begin()
					}
					if err := o.Train(ctx, trial.Share(f, step), nil); err != nil {
						return err
					}
				}
				if err := errors.Join(o.Close(ctx), f.BarrierWorker(ctx)); err != nil || f.WorkerIndex() != 0 {
					return err
				}
				if read {
					close(stop)
					readers.Wait()
				}
				end = map[uint64][]float32{}
				for row, err := range f.Rows(ctx, "open") {
					if err != nil {
						return err
					}
					end[row.ID] = slices.Clone(row.W)
				}
				return nil
			})
		})
		return end
	}
	want, got := train(false), train(true)
	for id, row := range want {
		if !slices.Equal(row, got[id]) {
			t.Fatalf("row %d is %v, and %v beside readers", id, row, got[id])
		}
	}
	if len(want) == 0 || len(want) != len(got) {
		t.Errorf("%d rows, and %d beside readers", len(want), len(got))
	}
}

// TestAMomentNamesOneState: rows of one moment are the same rows, whether steps are made, periods end or models are loaded, and
// later rows have a later moment.
func TestAMomentNamesOneState(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			cluster, options := readable(1, 1)
			dir := t.TempDir()
			cluster.Run(t, trial.Counters(3, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				r, err := reader.Open(ctx, options)
				if err != nil {
					return err
				}
				defer r.Close()
				seen, last := map[reader.Moment]string{}, reader.Moment{}
				look := func(when string) error {
					rows, err := r.Rows(ctx, "rows", []uint64{0, 1 << 32, 2 << 32})
					if err != nil {
						return err
					}
					at, is := rows.Moments[0], fmt.Sprint(rows.W, rows.Has)
					if was, ok := seen[at]; ok && was != is {
						t.Errorf("%s: at %+v there were %s, and are %s", when, at, was, is)
					}
					if at.Remade < last.Remade || at.Remade == last.Remade && at.Update < last.Update {
						t.Errorf("%s: %+v comes behind %+v", when, at, last)
					}
					seen[at], last = is, at
					return nil
				}
				shrink := func() error { _, err := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 1}); return err }
				step := func() error {
					return errors.Join(c.Train(ctx, 1), c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx))
				}
				for i, do := range []func() error{
					step, step, func() error { return f.SavePersistables(ctx, dir+"/ck") }, step, shrink, shrink, step,
					func() error { return f.LoadModel(ctx, dir+"/ck") }, step, step, step, shrink,
					func() error { return f.LoadModel(ctx, dir+"/ck", "rows") }, step, shrink, shrink,
				} {
					if err := errors.Join(do(), look(fmt.Sprint("event ", i))); err != nil {
						return err
					}
				}
				if last.Remade != 7 || len(seen) < 12 {
					t.Errorf("at the end there is %+v, and there were %d moments", last, len(seen))
				}
				return nil
			}))
		})
	}
}

// readUntil goes through a table again and again, and finds that updates of a server never go back.
func readUntil(t *testing.T, o reader.Options, stop chan struct{}) {
	r, err := reader.Open(context.Background(), o)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	last := make([]uint64, len(o.Servers))
	for n := 0; ; n++ {
		_, moments, err := all(context.Background(), r, "open", 2)
		if err != nil {
			t.Error(err)
			return
		}
		for _, m := range moments {
			if m.Update < last[m.Server] {
				t.Errorf("server %d: update %d after %d", m.Server, m.Update, last[m.Server])
			}
			last[m.Server] = m.Update
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}

// TestAPageIsOfOneMoment: every update changes all rows of a counter, and rows of one answer have all had the same updates: so many as the
// answer says.
func TestAPageIsOfOneMoment(t *testing.T) {
	t.Parallel()
	for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async()} {
		t.Run(string(s.Mode), func(t *testing.T) {
			t.Parallel()
			cluster, options := readable(1, 3)
			stop := make(chan struct{})
			var readers sync.WaitGroup
			defer readers.Wait()
			begin := sync.OnceFunc(func() {
				first := make(chan struct{})
				readers.Go(func() { counted(t, options, first, stop) })
				<-first
			})
			cluster.Run(t, trial.Counters(300, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				err := c.InSession(ctx, func(session optimizer.Session) error {
					for range 100 {
						if err := c.Steps(ctx, session, 1); err != nil {
							return err
						}
						begin()
					}
					return nil
				})
				if err = errors.Join(err, f.BarrierWorker(ctx)); f.WorkerIndex() == 0 {
					close(stop)
					readers.Wait()
				}
				return err
			}))
		})
	}
}

// counted reads the rows of a counter until it is stopped. It closes first behind its first answer.
func counted(t *testing.T, o reader.Options, first, stop chan struct{}) {
	answered := sync.OnceFunc(func() { close(first) })
	defer answered()
	r, err := reader.Open(context.Background(), o)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	ids := trial.NewCounter(300).IDs
	for {
		rows, err := r.Rows(context.Background(), "rows", ids)
		if err != nil {
			t.Error(err)
			return
		}
		for _, w := range rows.W {
			if w != float32(rows.Moments[0].Update) {
				t.Errorf("a weight counts %v updates, and the rows are of update %d", w, rows.Moments[0].Update)
				return
			}
		}
		answered()
		select {
		case <-stop:
			return
		default:
		}
	}
}

// TestWhoMayRead: a reader needs the readers' token and all servers of one job, and says what is wrong otherwise.
func TestWhoMayRead(t *testing.T) {
	t.Parallel()
	cluster, good := readable(2, 1)
	other, far := readable(2, 1)
	other.Endpoints = []string{"elsewhere-0:1", "elsewhere-1:1"}
	other.Options.Transport, far.Transport = good.Transport, good.Transport
	bare := transport.NewMemory()
	cluster.Run(t, trial.Counters(3, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		if err := c.Train(ctx, 1); err != nil {
			return err
		}
		for says, o := range map[string]reader.Options{
			"":                                  good,
			"wrong token":                       {Servers: good.Servers, Token: "for somebody else", Transport: good.Transport},
			"set FLEET_READ_TOKEN":              {Servers: good.Servers, Transport: good.Transport},
			"Options.Servers is empty":          {Token: token, Transport: good.Transport},
			"is server 0 of 2, and Options.Ser": {Servers: good.Servers[:1], Token: token, Transport: good.Transport},
			"is server 1 of 2, as server-1:1":   {Servers: []string{"server-1:1", "server-1:1"}, Token: token, Transport: good.Transport},
			"nobody listens there":              {Servers: good.Servers, Token: token, Transport: bare, Wait: 50 * time.Millisecond},
			"has not given what was asked for":  {Servers: []string{"server-0:1", "nobody:1"}, Token: token, Transport: good.Transport, Wait: 50 * time.Millisecond},
			`no such embedding: "more"`:         {Servers: good.Servers, Token: token, Transport: good.Transport, Params: []reader.Param{{Name: "more"}}},
			"and 3 and 0 are wanted":            {Servers: good.Servers, Token: token, Transport: good.Transport, Params: []reader.Param{{Name: "rows", Dim: 3}}},
			"want a transport.Readable":         {Servers: good.Servers, Token: token, Transport: &trial.Cable{Transport: bare}},
		} {
			r, err := reader.Open(ctx, o)
			if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "somebody else")) {
				t.Errorf("%q: %v", says, err)
			}
			if err == nil {
				if _, err := r.Rows(ctx, "w", nil); !errors.Is(err, reader.ErrParam) {
					t.Errorf("dense weights are read: %v", err)
				}
				if err := r.Each(ctx, "rows", func(reader.Page) error { return errEnough }); !errors.Is(err, errEnough) {
					t.Errorf("the error of a page is %v", err)
				}
				r.Close()
			}
		}
		return nil
	}))
}

var errEnough = errors.New("enough")
