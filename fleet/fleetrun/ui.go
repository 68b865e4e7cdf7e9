package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/observe"
	"github.com/gofleet/gofleet/internal/ui"
)

// panel has the data for the page of --ui: the roles that this fleetrun has started, their status, and the warnings in
// their logs. It is nil for a job without a page.
type panel struct {
	ui.Watch
	logDir  string
	name    string
	began   time.Time
	logs    logTails
	attempt atomic.Pointer[string]
	metrics func(role) string
	alone   restarts
}

// uiTokenVar is the token of the page, and of the roles' status.
const uiTokenVar = "FLEET_UI_TOKEN"

// openUI opens the page of --ui, if it is wanted, and prints its address. Each role then has an address for its metrics
// and the page's token.
func (c *crew) openUI(addr string, alone restarts) (close func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	if c.job.places, err = freePorts(len(c.job.here), slices.Concat(c.job.servers, c.job.workers)); err != nil {
		return nil, fmt.Errorf("--ui: no free ports for the metrics of roles: %w", err)
	}
	c.job.uiToken = pageToken()
	c.panel = &panel{Watch: ui.Watch{Ask: asker(c.job.uiToken)}, logDir: c.logDir, name: filepath.Base(c.program),
		began: time.Now(), alone: alone,
		metrics: func(r role) string { return c.job.metricsAt(os.Getenv(metricsVar), r) }}
	return c.con.servePage(addr, c.job.uiToken, c.panel.job)
}

func pageToken() string { return cmp.Or(os.Getenv(uiTokenVar), rand.Text()) }

// asker asks processes that have the token for their status.
func asker(token string) func(ctx context.Context, addr string) (observe.Status, error) {
	return func(ctx context.Context, addr string) (observe.Status, error) { return observe.Ask(ctx, addr, token) }
}

// servePage serves a page, whose address it prints, until close is called.
func (c *console) servePage(addr, token string, source ui.Source) (close func(), err error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("--ui=%s: %w: want an address such as :8900 or 0.0.0.0:8900", addr, err)
	}
	l, err := observe.Listen(addr)
	if err != nil {
		return nil, fmt.Errorf("--ui=%s: %w", addr, err)
	}
	page := ui.New(addr, token, l, source)
	var serving sync.WaitGroup
	serving.Go(func() { _ = observe.Serve(l, page.Answer) })
	c.warn("the job is shown at http://%s/?token=%s", ui.Near(l.Addr().String()), token)
	return func() { l.Close(); serving.Wait() }, nil
}

// started notes that a role has been started, and the attempt.
func (p *panel) started(r role, attempt string) {
	if p != nil {
		p.attempt.Store(&attempt)
		p.set(r, ui.Starts, "")
	}
}

// ended notes that a role has ended, and how.
func (p *panel) ended(e exit) {
	if p != nil {
		state := ui.Ended
		if e.code != 0 {
			state = ui.Failed
		}
		p.set(e.role, state, e.how)
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
		p.Change(string(r.kind), r.rank, what)
	}
}

// mostRestarts is the number of restarts that are kept for a role, enough for two minutes.
const mostRestarts = 20

// set sets how a role stands. The last report of one that is down stays.
func (p *panel) set(r role, state ui.State, how string) {
	p.change(r, func(is *ui.Role) {
		is.State, is.Since, is.How, is.Again = state, time.Now(), how, time.Time{}
		is.Log, is.Metrics, is.Alone = logPath(p.logDir, r), p.metrics(r), *p.alone.alone(r.kind) > 0
	})
}

// job asks all roles that run. Their logs have more warnings than they tell, and those of roles that have crashed.
func (p *panel) job(ctx context.Context) ui.Job {
	j := p.Look(ctx)
	j.Name, j.Began = p.name, p.began
	if attempt := p.attempt.Load(); attempt != nil {
		j.Attempt = *attempt
	}
	var who []role
	for _, r := range j.Roles {
		who = append(who, role{kind(r.Kind), r.Index})
	}
	j.Warnings = p.logs.read(p.logDir, who, time.Now())
	return j
}
