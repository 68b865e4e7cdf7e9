package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/server"
	"github.com/gofleet/gofleet/internal/ui"
	"github.com/gofleet/gofleet/strategy"
)

// The address of the page and its token. The process that knows most of the job serves the page: server 0, worker 0 of
// a job without servers, or a process alone; all roles may have both variables. Without an address there is no page;
// without a token a random one is logged.
const envUI, envUIToken = "FLEET_UI", "FLEET_UI_TOKEN"

// openUI opens the page if this process serves it. The page shows the first fleet of the process at once, and a later
// fleet from its Minimize on.
func (f *Fleet) openUI() error {
	addr := os.Getenv(envUI)
	if addr == "" || f.id.Index != 0 || f.IsWorker() && f.ServerNum() > 0 {
		return nil
	}
	page, url, err := ui.Open(addr, os.Getenv(envUIToken), f.shown)
	if err != nil {
		return fmt.Errorf("fleet: %s=%s: %w", envUI, addr, err)
	}
	if f.page = page; url != "" {
		f.log.Info("the job is shown at " + url) // a value with a token would be quoted
	}
	return nil
}

// shown returns the job as this process knows it.
func (f *Fleet) shown(context.Context) ui.Job {
	job := ui.Job{Name: filepath.Base(os.Args[0]), Began: f.began}
	s := f.Stats()
	own := ui.Role{Kind: "worker", Index: f.id.Index, State: ui.Starts, Since: f.began, Stats: &s, At: time.Now(),
		Metrics: ui.Near(os.Getenv(envMetrics))}
	if f.IsServer() {
		own.Kind = "server"
	}
	if f.stands().Began || s.Counts.Steps > 0 {
		own.State = ui.Runs
	}
	job.Roles, job.Warnings = []ui.Role{own}, f.warnings.Last()
	for i := range job.Warnings {
		job.Warnings[i].Role = own.String()
	}
	if f.IsServer() {
		f.showOthers(&job)
	}
	slices.SortStableFunc(job.Warnings, func(a, b ui.Warning) int { return a.At.Compare(b.At) })
	job.Warnings = job.Warnings[max(0, len(job.Warnings)-ui.MostWarnings):]
	return job
}

// showOthers adds all roles but this server, by what it knows of them and what they report.
func (f *Fleet) showOthers(job *ui.Job) {
	servers, workers := make([]server.Seen, f.ServerNum()), make([]server.Seen, f.id.Workers)
	if s, _ := f.hosted.now(); s != nil {
		servers, workers = s.Look()
	}
	for i := 1; i < len(servers); i++ {
		f.showOther(job, "server", i, servers[i])
	}
	for i := range workers {
		f.showOther(job, "worker", i, workers[i])
	}
}

// states are the states on the page, by the states of the roster.
var states = map[string]ui.State{"here": ui.Runs, "left": ui.Ended, "expected back": ui.Away, "dead": ui.Away}

// missedBeats is after how many missing heartbeats a role is shown as silent.
const missedBeats = 2

func (f *Fleet) showOther(job *ui.Job, kind string, index int, is server.Seen) {
	r := ui.Role{Kind: kind, Index: index, State: cmp.Or(states[is.Stands], ui.Starts), Since: f.began}
	now := time.Now()
	if r.State != ui.Starts {
		r.Since = now.Add(-is.For)
	}
	if r.State == ui.Runs && is.Silent > missedBeats*f.beat() {
		r.State, r.Since = ui.Silent, now.Add(-is.Silent)
	}
	if len(is.Text) > 0 {
		warnings, err := r.Tell(is.Text, is.At)
		if err != nil {
			f.log.Debug("a role tells what can't be read", "role", r.String(), "error", err)
		}
		job.Warnings = append(job.Warnings, warnings...)
	}
	job.Roles = append(job.Roles, r)
}

// saved names the error of a call that saves, and shows it on the page as a warning, since the program may go on.
func (f *Fleet) saved(call string, err error) error {
	if err = named(call, err); err != nil {
		f.warnings.Add("", err.Error(), false, time.Now())
	}
	return err
}

// beat is the interval of heartbeats.
func (f *Fleet) beat() time.Duration {
	if j, err := f.minimized("a page"); err == nil {
		return j.strategy.HeartbeatInterval.Std()
	}
	return strategy.DefaultHeartbeatInterval.Std()
}

// tells returns this process's report for the page of server 0, as JSON. Curves are in it if they are wanted and JSON
// can express them: it has no NaN.
func (f *Fleet) tells(curves bool) []byte {
	s := f.Stats()
	if !curves {
		s.Training = nil
	}
	text, err := ui.Told{Now: time.Now(), Stats: &s, Warnings: f.warnings.Last(),
		Metrics: ui.Near(os.Getenv(envMetrics))}.Text()
	if _, odd := err.(*json.UnsupportedValueError); odd && curves {
		return f.tells(false)
	}
	return text
}
