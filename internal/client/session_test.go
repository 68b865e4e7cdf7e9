package client

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// modes are the ways to train.
var modes = map[string]func() strategy.Strategy{"sync": strategy.Sync, "async": strategy.Async}

// TestTwoWorkers trains two workers of gradients 1 and 3 on two servers: a round of sync is one update of their mean, async
// adds both.
func TestTwoWorkers(t *testing.T) {
	for name, want := range map[string]float32{"sync": -2 * 5, "async": -4 * 5} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 2, 2, modes[name]())
				j.serve(0, 1)
				clients := []*Client{j.join(0, nil), j.join(1, nil)}
				var training sync.WaitGroup
				for w, c := range clients {
					training.Go(func() {
						th := open(t, c)
						for range 5 {
							th.train(float32(1+2*w), []uint64{3, 4, 1 << 50}, nil)
						}
						check(t, th.Close(t.Context()))
						check(t, c.EndEpoch(t.Context()))
					})
				}
				training.Wait()
				all(t, "weights and rows", open(t, clients[1]).peek(3, 4, 1<<50), want)
				for _, c := range clients {
					check(t, c.Leave(t.Context()))
				}
				j.serving.Wait()
				for s, err := range j.errs {
					if err != nil {
						t.Errorf("server %d: %v", s, err)
					}
				}
			})
		})
	}
}

// TestSeveralSessions opens four threads in one worker: async adds up what all of them push, sync has room for one.
func TestSeveralSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const threads, steps = 4, 6
		j := newJob(t, 2, 1, strategy.Async())
		j.serve(0, 1)
		c := j.join(0, nil)
		var training sync.WaitGroup
		for range threads {
			th := open(t, c)
			training.Go(func() {
				for range steps {
					th.train(-1, []uint64{1, 9}, []uint64{1, 9})
				}
				check(t, th.Close(t.Context()))
			})
		}
		training.Wait()
		all(t, "weights and rows", open(t, c).peek(1, 9), threads*steps)
	})
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 1, 1, strategy.Sync())
		j.serve(0)
		c := j.join(0, nil)
		first, second := open(t, c), open(t, c)
		first.train(1, []uint64{1}, nil)
		if err := second.Begin(t.Context(), second.step(1, []uint64{1}, nil)); err == nil || !strings.Contains(err.Error(), "one session a worker") {
			t.Errorf("a second session that trains in sync mode: %v", err)
		}
		check(t, first.Close(t.Context()))
		second.train(1, []uint64{1}, nil)
	})
}

// TestAheadIsOneRoundTrip counts requests: a step whose rows came with the last answer needs one to each server.
func TestAheadIsOneRoundTrip(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const steps = 10
				ids := []uint64{1, 2, 3, 4, 5, 6, 7, 8}
				j := newJob(t, 2, 1, mode())
				j.serve(0, 1)
				net := &tap{Transport: j.net}
				th := open(t, j.join(0, net))
				before := net.calls.Load()
				for range steps {
					th.train(1, ids, ids)
				}
				check(t, th.Close(t.Context()))
				if n := net.calls.Load() - before; n > 2*(steps+2) {
					t.Errorf("%d requests for %d steps on two servers", n, steps)
				}
			})
		})
	}
}

// TestAheadOfOtherRows has the next batch be another one than was announced.
func TestAheadOfOtherRows(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 2, 1, mode())
				j.serve(0, 1)
				th := open(t, j.join(0, nil))
				th.train(1, []uint64{1, 2}, []uint64{5, 6})
				if st := th.train(1, []uint64{1, 2}, []uint64{1, 2}); name == "sync" {
					all(t, "rows of the second step", st.Rows[0].W, -1)
				}
				check(t, th.Close(t.Context()))
			})
		})
	}
}

// TestEvaluationBringsNothingToLife reads rows that nobody has trained: they are zero, and are not there afterwards.
func TestEvaluationBringsNothingToLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 1, strategy.Async())
		j.serve(0, 1)
		c := j.join(0, nil)
		th := open(t, c)
		all(t, "rows", th.peek(7, 8, 9), 0)
		th.train(1, []uint64{8, 10}, nil)
		check(t, th.Close(t.Context()))
		var born []uint64
		check(t, c.Rows(t.Context(), "emb", func(ids []uint64, _ []float32) error {
			born = append(born, ids...)
			return nil
		}))
		if slices.Sort(born); !slices.Equal(born, []uint64{8, 10}) {
			t.Errorf("rows %v are there, 8 and 10 were trained", born)
		}
	})
}

// TestWrongStepsStayHere refuses steps that do not fit the layout, and gradients that are no numbers, before anything is sent.
//
// Promise: [G8] a wrong step is refused by its worker, before it is sent
func TestWrongStepsStayHere(t *testing.T) {
	nan := float32(math.NaN())
	tests := map[string]struct {
		change func(th *thread, st *optimizer.Step)
		end    bool // refused by End; by Begin otherwise
		says   string
	}{
		"no rows":          {change: func(_ *thread, st *optimizer.Step) { st.Rows = nil }, says: "rows of 0 embeddings"},
		"another's rows":   {change: func(th *thread, st *optimizer.Step) { st.Rows[0].Param = th.params[0] }, says: `step.Rows[0] is for "w", want "emb"`},
		"too few weights":  {change: func(_ *thread, st *optimizer.Step) { st.Rows[0].W = st.Rows[0].W[:3] }, says: "2 ids need 4 values, have 3 weights"},
		"too many":         {change: func(_ *thread, st *optimizer.Step) { st.Rows[0].G = make([]float32, 6) }, says: "6 gradients"},
		"ids twice":        {change: func(_ *thread, st *optimizer.Step) { st.Rows[0].IDs = []uint64{2, 2} }, says: "id 2 after 2"},
		"ids descend":      {change: func(_ *thread, st *optimizer.Step) { st.Rows[0].IDs = []uint64{2, 1} }, says: "id 1 after 2"},
		"no samples":       {change: func(_ *thread, st *optimizer.Step) { st.Samples = 0 }, says: "0 samples"},
		"NaN in a row":     {change: func(_ *thread, st *optimizer.Step) { st.Rows[0].G[3] = nan }, end: true, says: `row 2 of "emb" is NaN`},
		"infinity":         {change: func(th *thread, _ *optimizer.Step) { th.params[0].G[5] = float32(math.Inf(1)) }, end: true, says: `"w" is +Inf at element 5`},
		"NaN, last weight": {change: func(th *thread, _ *optimizer.Step) { th.params[0].G[23] = nan }, end: true, says: `"w" is NaN at element 23`},
	}
	for mode := range modes {
		for name, test := range tests {
			t.Run(mode+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					j := newJob(t, 2, 1, modes[mode]())
					j.serve(0, 1)
					net := &tap{Transport: j.net}
					th := open(t, j.join(0, net))
					st := th.step(1, []uint64{1, 2}, nil)
					var err error
					if test.end {
						check(t, th.Begin(t.Context(), st))
						synctest.Wait()
						test.change(th, st)
					} else {
						test.change(th, st)
					}
					before := net.calls.Load()
					if test.end {
						err = th.End(t.Context(), st)
					} else {
						err = th.Begin(t.Context(), st)
					}
					if err == nil || !strings.Contains(err.Error(), test.says) {
						t.Errorf("got %v, want %q", err, test.says)
					}
					if synctest.Wait(); net.calls.Load() != before {
						t.Errorf("%d requests were sent all the same", net.calls.Load()-before)
					}
				})
			})
		}
	}
}

// TestWrongSessions opens sessions too early and with arrays of another model.
func TestWrongSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 1, 1, strategy.Async())
		j.serve(0)
		if _, err := j.client(0, nil).Open(params()); !errors.Is(err, backend.ErrNotJoined) {
			t.Errorf("before Join: %v, want ErrNotJoined", err)
		}
		c := j.join(0, nil)
		other := params()
		other[0].Shape = []int{4, 6}
		for says, p := range map[string][]*optimizer.Param{"1 params": params()[:1], `"w" [6 4] there`: other} {
			if _, err := c.Open(p); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("got %v, want %q", err, says)
			}
		}
	})
}

// TestLoopWaitsForSlowServers holds back the pushes of an async worker: it goes on for two steps and then waits, no longer
// than its ctx.
func TestLoopWaitsForSlowServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 1, 1, strategy.Async())
		j.serve(0)
		slow := make(chan struct{})
		net := &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
			if h.Samples > 0 {
				<-slow
			}
			return nil
		}}
		c := j.join(0, net)
		th := open(t, c)
		for range 2 {
			st := th.step(1, []uint64{1}, nil)
			check(t, th.End(t.Context(), st)) // no Begin: it would wait for the push before it
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := th.End(ctx, th.step(1, []uint64{1}, nil)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third push: %v, want it to wait for the deadline", err)
		}
		if err := c.drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain: %v, want it to wait for the deadline", err)
		}
		close(slow)
		check(t, th.Close(t.Context()))
		all(t, "weights", open(t, c).peek(1), -2)
	})
}

// TestAFailedSessionSaysWhy has a server refuse: whatever the thread does next tells the first reason, and nothing hangs.
func TestAFailedSessionSaysWhy(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 2, 1, mode())
				j.serve(0, 1)
				net := &tap{Transport: j.net, before: func(endpoint string, h wire.Header) error {
					if h.Samples > 0 && endpoint == j.endpoints[1] {
						return wire.ErrVersion
					}
					return nil
				}}
				th := open(t, j.join(0, net))
				st := th.step(1, []uint64{1, 2}, nil)
				check(t, th.Begin(t.Context(), st))
				err := th.End(t.Context(), st)
				if name == "async" {
					check(t, err)
					synctest.Wait()
					err = th.Begin(t.Context(), st)
				}
				for _, part := range []string{"worker 0 pushing", "server 1 (server-1:1)"} {
					if !errors.Is(err, wire.ErrVersion) || !strings.Contains(err.Error(), part) {
						t.Errorf("got %v, want the refusal and %q", err, part)
					}
				}
				_ = th.Close(t.Context())
			})
		})
	}
}
