package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/httpget"
	"github.com/gofleet/gofleet/internal/ui"
)

// panel has the data for the page of --ui: the roles that this fleetrun has started, their reports, and the warnings in
// their logs. Roles are asked only while the page is open. It is nil for a job without a page.
type panel struct {
	dir     string // directory of the roles' sockets
	logDir  string
	name    string
	began   time.Time
	logs    logTails
	mu      sync.Mutex
	attempt string
	roles   map[role]*ui.Role
	metrics func(role) string
	alone   restarts
}

// statsVar names the unix socket at which a role reports its counters.
const statsVar, uiTokenVar = "FLEET_STATS", "FLEET_UI_TOKEN"

// longestSocket is the length that the path of a unix socket may have on every system.
const longestSocket = 100

// openUI opens the page of --ui, if it is wanted, and prints its address.
func (c *crew) openUI(addr string, alone restarts) (close func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	if n := len(filepath.Join(c.job.scratch, "worker1000")); n > longestSocket {
		return nil, fmt.Errorf("--ui: roles' sockets have paths of %d bytes, and %d are possible: set TMPDIR to a "+
			"shorter directory", n, longestSocket)
	}
	l, err := ui.Listen(addr)
	if err != nil {
		return nil, fmt.Errorf("--ui=%s: %w", addr, err)
	}
	c.panel = &panel{dir: c.job.scratch, logDir: c.logDir, name: filepath.Base(c.program), began: time.Now(),
		roles: map[role]*ui.Role{}, alone: alone,
		metrics: func(r role) string { return c.job.metricsAt(os.Getenv(metricsVar), r) }}
	token := cmp.Or(os.Getenv(uiTokenVar), rand.Text())
	page := ui.New(addr, token, l, c.panel.job)
	var serving sync.WaitGroup
	serving.Go(func() { _ = httpget.Serve(l, page.Answer) })
	c.con.warn("the job is shown at http://%s/?token=%s", ui.Near(l.Addr().String()), token)
	return func() { l.Close(); serving.Wait() }, nil
}

// socket is the path of a role's socket.
func (p *panel) socket(r role) string { return filepath.Join(p.dir, fmt.Sprint(r.kind, r.rank)) }

// environment is the variable with a role's socket.
func (p *panel) environment(r role) []variable {
	if p == nil {
		return nil
	}
	return []variable{{statsVar, p.socket(r)}}
}

// started notes that a role has been started, and the attempt.
func (p *panel) started(r role, attempt string) {
	if p != nil {
		p.set(r, ui.Role{State: ui.Starts, Since: time.Now()})
		p.mu.Lock()
		p.attempt = attempt
		p.mu.Unlock()
	}
}

// ended notes that a role has ended, and how.
func (p *panel) ended(e exit) {
	if p != nil {
		state := ui.Ended
		if e.code != 0 {
			state = ui.Failed
		}
		p.set(e.role, ui.Role{State: state, Since: time.Now(), How: e.how})
	}
}

// rests notes after how long a role that has ended is started again alone.
func (p *panel) rests(r role, in time.Duration) {
	p.change(r, func(is *ui.Role) { is.Again = time.Now().Add(in) })
}

// again notes that a role was started again alone.
func (p *panel) again(r role) {
	p.change(r, func(is *ui.Role) {
		is.Restarts = append(slices.Clone(is.Restarts[max(0, len(is.Restarts)-mostRestarts+1):]), time.Now())
	})
}

func (p *panel) change(r role, what func(*ui.Role)) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		what(p.roles[r])
	}
}

// mostRestarts is the number of restarts that are kept for a role, enough for two minutes.
const mostRestarts = 20

func (p *panel) set(r role, is ui.Role) {
	is.Kind, is.Index, is.Log, is.Metrics = string(r.kind), r.rank, logPath(p.logDir, r), p.metrics(r)
	is.Alone = *p.alone.alone(r.kind) > 0
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := p.roles[r]; was != nil { // the last report of a role that is down stays
		is.Stats, is.At, is.Restarts = was.Stats, was.At, was.Restarts
	}
	p.roles[r] = &is
}

// Bounds: roles that are asked at once, the time for an answer, and its length in bytes.
const (
	askedAtOnce   = 16
	patienceOfUI  = time.Second
	longestAnswer = 16 << 20
)

// job asks all roles that run.
func (p *panel) job(ctx context.Context) ui.Job {
	p.mu.Lock()
	j := ui.Job{Name: p.name, Began: p.began, Attempt: p.attempt}
	var who []role
	for r, is := range p.roles {
		who, j.Roles = append(who, r), append(j.Roles, *is)
	}
	p.mu.Unlock()
	var asking sync.WaitGroup
	places := make(chan struct{}, askedAtOnce)
	for i, r := range who {
		if s := j.Roles[i].State; s == ui.Ended || s == ui.Failed {
			continue
		}
		places <- struct{}{}
		asking.Go(func() {
			defer func() { <-places }()
			p.ask(ctx, r, &j.Roles[i])
		})
	}
	asking.Wait()
	slices.SortFunc(j.Roles, func(a, b ui.Role) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), a.Index-b.Index) })
	j.Warnings = p.logs.read(p.logDir, who, time.Now())
	return j
}

// ask asks a role for its report. A role that has answered before and does not is silent; one that was just started has
// some time until it listens.
func (p *panel) ask(ctx context.Context, r role, is *ui.Role) {
	ctx, cancel := context.WithTimeout(ctx, patienceOfUI)
	defer cancel()
	text, err := httpget.Get(ctx, "unix", p.socket(r), "/stats.json", longestAnswer)
	var all []stats.Process
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	was := *is
	switch {
	case err == nil && len(all) > 0:
		is.Stats, is.At = &all[0], time.Now()
		if is.State == ui.Silent {
			is.Since = time.Now()
		}
		is.State = ui.Runs
	case err != nil && is.State == ui.Runs:
		is.State, is.Since = ui.Silent, time.Now()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.roles[r]; now.Since.Equal(was.Since) && now.State == was.State { // it has not ended meanwhile
		now.State, now.Since, now.Stats, now.At = is.State, is.Since, is.Stats, is.At
	}
}
