package ui

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/observe"
)

// Watch is a job whose processes are asked for their status at each look. It keeps what each has said last.
type Watch struct {
	// Ask asks the process at an address.
	Ask func(ctx context.Context, addr string) (observe.Status, error)
	// Find returns the addresses of processes that others have started. Without it those are asked that Change says are
	// there.
	Find func(ctx context.Context) []string

	mu    sync.Mutex
	job   Job
	roles map[string]*Role
}

// answer is what a process says.
type answer struct {
	addr string
	observe.Status
	err error
}

// Bounds: processes that are asked at once, and the time for an answer.
const (
	askedAtOnce = 16
	patience    = time.Second
)

// Look asks all processes, and returns the job.
func (w *Watch) Look(ctx context.Context) Job {
	began := time.Now()
	answers := w.askAll(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range answers {
		w.hear(&answers[i], began)
	}
	for _, r := range w.roles {
		w.miss(r, answers)
	}
	j := w.job
	j.Roles, j.Warnings = nil, nil
	for _, r := range w.roles {
		j.Roles, j.Warnings = append(j.Roles, *r), append(j.Warnings, r.Warnings...)
	}
	slices.SortFunc(j.Roles, func(a, b Role) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), a.Index-b.Index) })
	for _, a := range answers {
		if a.err != nil && !slices.ContainsFunc(j.Roles, func(r Role) bool { return r.Metrics == a.addr }) {
			j.Warnings = append(j.Warnings, observe.Warning{Role: a.addr, Text: a.err.Error(), Count: 1, At: began})
		}
	}
	slices.SortStableFunc(j.Warnings, func(a, b observe.Warning) int { return a.At.Compare(b.At) })
	j.Warnings = j.Warnings[max(0, len(j.Warnings)-observe.MostWarnings):]
	return j
}

// Change changes what is known of a role, such as that it has ended.
func (w *Watch) Change(kind string, index int, what func(*Role)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what(w.role(kind, index))
}

func (w *Watch) role(kind string, index int) *Role {
	r := &Role{Kind: kind, Index: index}
	if is := w.roles[r.String()]; is != nil {
		return is
	}
	if w.roles == nil {
		w.roles = map[string]*Role{}
	}
	w.roles[r.String()] = r
	return r
}

func (w *Watch) askAll(ctx context.Context) []answer {
	var answers []answer
	if w.Find != nil {
		for _, addr := range w.Find(ctx) {
			answers = append(answers, answer{addr: addr})
		}
	} else {
		w.mu.Lock()
		for _, r := range w.roles {
			if r.State != Ended && r.State != Failed {
				answers = append(answers, answer{addr: r.Metrics})
			}
		}
		w.mu.Unlock()
	}
	var asking sync.WaitGroup
	places := make(chan struct{}, askedAtOnce)
	for i := range answers {
		places <- struct{}{}
		asking.Go(func() {
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			a := &answers[i]
			a.Status, a.err = w.Ask(ctx, a.addr)
		})
	}
	asking.Wait()
	return answers
}

// hear takes what a process has answered. A role that has ended, or was started, since it was asked has not said it.
func (w *Watch) hear(a *answer, asked time.Time) {
	for _, said := range a.Roles {
		r := w.role(said.Kind, said.Index)
		if r.Since.After(asked) {
			continue
		}
		is, first := Runs, r.State == ""
		if !said.Runs {
			is = Starts
		}
		if r.become(is); first {
			r.Since = said.Began
		}
		r.At, r.Stats, r.Training, r.Warnings, r.Metrics = a.Now, said.Stats, said.Training, said.Warnings, a.addr
		for i := range r.Warnings {
			r.Warnings[i].Role = r.String()
		}
		w.job.Name = cmp.Or(w.job.Name, a.Program)
		if w.job.Began.IsZero() || said.Began.Before(w.job.Began) {
			w.job.Began = said.Began
		}
	}
}

func (r *Role) become(is State) {
	if r.State != is {
		r.State, r.Since = is, time.Now()
	}
}

// miss notes that a role which ran does not answer, or that the address of its process is not found any more. Of one
// that others have started server 0 knows whether it has left, and an address at which nobody listens says that it has
// ended.
func (w *Watch) miss(r *Role, answers []answer) {
	at := slices.IndexFunc(answers, func(a answer) bool { return a.addr == r.Metrics })
	if at >= 0 && answers[at].err == nil || w.Find == nil && (at < 0 || r.State == Starts) {
		return
	}
	is := Silent
	if w.Find != nil && (at < 0 || refused(answers[at].err)) {
		is = Away
	}
	if first := w.roles["server 0"]; w.Find != nil && first != nil && first.Stats != nil && r.Kind == "worker" {
		for _, m := range first.Stats.Server.Members {
			if m.Worker == r.Index {
				is = cmp.Or(states[m.State], is)
			}
		}
	}
	r.become(is)
}

// states are the states of workers that do not answer, by those that server 0 gives them.
var states = map[string]State{"left": Ended, "expected back": Away, "dead": Away}

// refused reports whether nobody listens at an address.
func refused(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "dial" && !op.Timeout()
}

// Near returns the form of a listening address that callers on the same machine can use: the loopback address if it
// listens on all interfaces. It is empty if addr has no port.
func Near(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || host == "localhost" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
