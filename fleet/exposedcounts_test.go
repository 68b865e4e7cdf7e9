package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/observe"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// pages are what roles show at the end, by role.
type pages struct {
	mu    sync.Mutex
	shown map[string]string
	stats map[string]stats.Process
}

// play plays a counter's steps, and then looks at the page.
func (p *pages) play(s strategy.Strategy, steps int) func(context.Context, *fleet.Fleet) error {
	plays := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		return errors.Join(c.Train(ctx, steps), f.BarrierWorker(ctx))
	})
	return func(ctx context.Context, f *fleet.Fleet) error {
		page := f.Exposed()
		err := plays(ctx, f)
		text := string(page("/metrics"))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.shown[fmt.Sprint(f)], p.stats[fmt.Sprint(f)] = text, f.Stats()
		return err
	}
}

// TestTimesAreShown: in every mode a worker shows how long its steps' parts and requests took, what it exchanged with each server and how
// stale its gradients were, a server how long its answers and the calls of its tables took, and the rows that were born.
func TestTimesAreShown(t *testing.T) {
	t.Parallel()
	const steps = 6
	for _, m := range strategy.Modes() {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			p := &pages{shown: map[string]string{}, stats: map[string]stats.Process{}}
			trial.Cluster(2, 2).Simulate(t, nil, p.play(strategy.Strategy{Mode: m}, steps))
			for role, text := range p.shown {
				s := p.stats[role]
				want := []string{`gofleet_request_seconds_bucket{role="server",index="`, `op="step",le="0.5"`, `gofleet_table_call_seconds_count{role="server",`,
					`op="push",le="+Inf"} `, `gofleet_table_born_rows_total{`}
				if strings.HasPrefix(role, "worker") {
					want = []string{`gofleet_request_seconds_bucket{role="worker",`, `op="step",le="`, `gofleet_worker_staleness_updates_bucket{role="worker",`,
						`gofleet_worker_link_bytes_total{role="worker",index="` + role[len("worker "):][:1] + `",server="1",of="sent"} `, `part="compute"} `}
					work := s.Work
					if work.Examples < steps || work.Staleness.Count() != s.Counts.Pushes || int64(work.Staleness.Sum) != s.Counts.Stale || work.Open != 0 {
						t.Errorf("%s: %+v, of %+v", role, work, s.Counts)
					}
					if len(s.Links) != 2 || s.Links[0].Sent == 0 || s.Links[1].Received == 0 || s.Links[0].Sent > s.Transport.Sent*2 {
						t.Errorf("%s: links %+v, sent in all %d", role, s.Links, s.Transport.Sent)
					}
				} else if born := s.Tables[0].Born; born == 0 || int(born) != s.Tables[0].Rows || s.Tables[0].Pushes.Count() == 0 || s.Tables[0].Reads.Count() == 0 {
					t.Errorf("%s: %+v", role, s.Tables[0])
				}
				for _, line := range want {
					if !strings.Contains(text, strings.ReplaceAll(line, `le="0.5"`, `le="0.0005"`)) {
						t.Errorf("%s shows no %s:\n%s", role, line, text)
					}
				}
			}
		})
	}
}

// TestPartsOfAStep: a worker's time is divided among the parts of its steps, here in virtual time: rows take a second, a step two.
func TestPartsOfAStep(t *testing.T) {
	t.Parallel()
	trial.Cluster(1, 1).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		return trial.Counters(5, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			return c.InSession(ctx, func(s optimizer.Session) (err error) {
				for range 3 {
					st := c.Step()
					time.Sleep(time.Second)
					err = errors.Join(err, s.Begin(ctx, st))
					time.Sleep(2 * time.Second)
					err = errors.Join(err, s.End(ctx, st))
				}
				if w := f.Stats().Work; w.Input != 2*time.Second || w.Compute != 6*time.Second || w.Examples != 3 {
					t.Errorf("%+v", w)
				}
				return err
			})
		})(ctx, f)
	})
}

// TestServersShowWhoCameBack: a server shows that it came back from its journal, and the servers that a worker was started again.
func TestServersShowWhoCameBack(t *testing.T) {
	t.Parallel()
	s := unhurried(t, strategy.ModeAsync)
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(2, 2)
		p := &pages{shown: map[string]string{}, stats: map[string]stats.Process{}}
		trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			plays := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				err := c.Train(ctx, 3)
				select {
				case <-time.After(3 * time.Minute):
				case <-ctx.Done():
				}
				return errors.Join(err, c.Train(ctx, 3), f.BarrierWorker(ctx))
			})
			look := func(ctx context.Context, f *fleet.Fleet) error {
				err := plays(ctx, f)
				p.mu.Lock()
				defer p.mu.Unlock()
				p.stats[fmt.Sprint(f)] = f.Stats() // of its last life
				return err
			}
			if f.IsServer() && f.ServerIndex() == 1 || f.IsWorker() && f.WorkerIndex() == 1 {
				return lives(ctx, f, network, []time.Duration{10 * time.Second}, []time.Duration{time.Second}, look)
			}
			return look(ctx, f)
		}))
		for role, is := range p.stats {
			life := 0
			if role == "server 1 of 2" {
				life = 1
			}
			if strings.HasPrefix(role, "server") && (is.Server.Life != life || is.Server.Returned != 1) {
				t.Errorf("%s: life %d, %d workers returned", role, is.Server.Life, is.Server.Returned)
			}
		}
		if len(p.stats) != 4 {
			t.Errorf("looked at %v", slices.Sorted(maps.Keys(p.stats)))
		}
	})
}

// TestSeriesOfARole: a role of 200 workers, all of which are waited for, and 50 tables shows at most 1,500 series, none of which has an id, a
// token or a path.
func TestSeriesOfARole(t *testing.T) {
	t.Parallel()
	var workers []int
	for w := range 200 {
		workers = append(workers, w)
	}
	store := new(table.Store)
	for i := range 50 {
		of, err := table.NewSparse(trial.Embedding(fmt.Sprint("table_", i), nil, 0, 4), optimizer.SGD{LR: 1}, table.Options{})
		if err = errors.Join(err, store.AddTable(of)); err != nil {
			t.Fatal(err)
		}
	}
	s := stats.Process{Server: stats.Server{Waits: []stats.Wait{{Why: "for all", Workers: workers, Since: time.Now()}}}, Tables: fleet.TablesOf(store)}
	ops := wire.Times()[:12] // a server of a job with servers has that many
	for _, h := range ops {
		h.Observe(1)
	}
	for op, d := range wire.Took(ops) {
		s.Requests = append(s.Requests, stats.Request{Op: op, Seconds: stats.Histogram(d)})
	}
	var out strings.Builder
	if err := observe.Write(&out, observe.Role{Kind: "server", Stats: &s}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	if n > 1500 || n < 1000 {
		t.Errorf("%d series", n)
	}
	t.Logf("%d series", n)
}
