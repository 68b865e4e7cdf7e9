package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// verdict is the result of a run.
type verdict struct {
	dir     string
	took    time.Duration
	resumed []resumption
	end     string   // how it ended, in words
	wrong   []string // why it failed, nil if it did not
}

func (v *verdict) fail(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

// play runs a plan and judges the result.
func (s *stage) play(ctx context.Context, p plan) (v verdict) {
	began := time.Now()
	defer func() { v.took = time.Since(began) }()
	dir, err := s.place()
	if err != nil {
		v.fail("%v", err)
		return v
	}
	v.dir = dir
	if p.flights {
		s.playFlights(ctx, p, &v)
	} else {
		s.playCounter(ctx, p, &v)
	}
	return v
}

// playCounter runs a counting job.
func (s *stage) playCounter(ctx context.Context, p plan, v *verdict) {
	var mu sync.Mutex
	all := reader{name: filepath.Join(v.dir, "diary")}
	far := func() int64 {
		mu.Lock()
		defer mu.Unlock()
		_ = all.read() // the diary is read again when the job has ended
		return all.made()
	}
	j := &job{stage: s, dir: v.dir, restarts: p.restarts, returns: p.returns(), events: p.events, far: far,
		args: []string{s.self, counterName, "-dir=" + v.dir, "-mode=" + string(p.mode), "-level=" + p.level.name}}
	o := j.play(ctx)
	v.ended(p, o)
	if err := all.read(); err != nil {
		v.fail("%v", err)
		return
	}
	v.resumed = resumed(all.entries, o.struck)
	if o.code == 0 && !o.hung {
		v.wrong = append(v.wrong, audit{p, all.entries, o}.wrong()...)
	}
}

// ended judges how a job has ended.
func (v *verdict) ended(p plan, o outcome) {
	if o.err != nil {
		v.fail("it could not be played: %v", o.err)
	}
	if o.hung {
		v.fail("it had not ended after %v", bound)
		return
	}
	v.end = fmt.Sprintf("exit %d", o.code)
	if n := strings.Count(o.said, " begins\n"); n > 0 {
		if v.end += fmt.Sprintf(", %d restarts", n); p.level.keeps && !taken(o.struck) {
			v.fail("all roles were started again, though servers keep a journal and no worker was taken out")
		}
	}
	if n := strings.Count(o.said, "started again alone"); n > 0 {
		v.end += fmt.Sprintf(", %d returns", n)
	}
	if o.code == 0 {
		return
	}
	if p.restarts > 0 {
		v.fail("it ended with %d, though roles may be started again", o.code)
	}
	if !namesSomebody(o) {
		v.fail("it ended with %d, and fleetrun does not say who failed", o.code)
	}
}

// namesSomebody reports whether fleetrun has named a process that was struck.
func namesSomebody(o outcome) bool {
	for _, e := range o.struck {
		if strings.Contains(o.said, e.whom) {
			return true
		}
	}
	return false
}

// resumption is how long after an event the next update was applied.
type resumption struct {
	done  string // "kill -9 of a server"
	after time.Duration
}

// resumed returns, for each event, how long after it updates were applied again: it takes the longest time without
// updates that includes or follows the event. An event after the last update has none.
func resumed(entries []entry, done []struck) (all []resumption) {
	var at []time.Time
	of := map[uint64]int64{}
	for _, e := range entries {
		if e.Acked > of[e.Life] {
			of[e.Life] = e.Acked
			at = append(at, e.At)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	for _, e := range done {
		var longest time.Duration
		var end time.Time
		for i := 1; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); at[i].After(e.at) && gap > longest {
				longest, end = gap, at[i]
			}
		}
		if longest > 0 {
			all = append(all, resumption{e.kind(), end.Sub(e.at)})
		}
	}
	return all
}
