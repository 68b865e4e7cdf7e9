package ui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/observe"
)

// view is the JSON for a browser: times in seconds, rates per second.
type view struct {
	Name     string            `json:"name"`
	At       int64             `json:"at"`       // milliseconds since 1970
	Runs     float64           `json:"runs"`     // duration of the run
	State    string            `json:"state"`    // of the job, in one or two words
	Attempt  string            `json:"attempt"`  // empty for the first
	Rate     float64           `json:"rate"`     // examples of all workers on the page
	Findings []Finding         `json:"findings"` // the worst first
	Roles    []roleView        `json:"roles"`
	Tables   []tableView       `json:"tables"` // of all servers together
	Training *observe.Training `json:"training"`
	Server   *serverView       `json:"server"`  // the job, as its first process has it
	Members  []memberView      `json:"members"` // all its workers, on other machines too
	Warnings []observe.Warning `json:"warnings"`
}

type roleView struct {
	Kind    string     `json:"kind"`
	Index   int        `json:"index"`
	State   State      `json:"state"` // a State, or "waits" as the page computes
	For     float64    `json:"for"`
	How     string     `json:"how"`
	Level   string     `json:"level"` // of the worst finding about it, and its mark; "" if there is none
	Mark    string     `json:"mark"`
	Epoch   int        `json:"epoch"`
	Steps   int64      `json:"steps"`
	Rate    float64    `json:"rate"`
	Parts   [4]float64 `json:"parts"` // of its time: input, pull, compute, push
	Stale   float64    `json:"stale"`
	Traffic []float64  `json:"traffic"` // bytes with each server, 0 if there were none
	Awaits  []int      `json:"awaits"`  // workers
	Why     string     `json:"why"`
	Rows    int        `json:"rows"`
	Bytes   int        `json:"bytes"`
}

type memberView struct {
	Worker int     `json:"worker"`
	State  string  `json:"state"`
	Life   int     `json:"life"`
	For    float64 `json:"for"` // 0 if it has not joined
}

type tableView struct {
	Name  string         `json:"name"`
	Rows  int            `json:"rows"`
	Bytes int            `json:"bytes"`
	Max   int            `json:"max"`
	Born  float64        `json:"born"`
	Away  uint64         `json:"away"`
	Hot   []stats.HotRow `json:"hot"`
}

type serverView struct {
	Phase       int     `json:"phase"`
	Round       int     `json:"round"`
	Holding     bool    `json:"holding"`
	Here        int     `json:"here"`
	Left        int     `json:"left"`
	Dead        int     `json:"dead"`
	Absent      int     `json:"absent"`
	Checkpoints int     `json:"checkpoints"`
	Age         float64 `json:"age"`
	Took        float64 `json:"took"`
}

// viewOf is the view of a job, with rates since the look before.
func viewOf(before, now *Job) *view {
	v := &view{Name: now.Name, At: now.At.UnixMilli(), Attempt: now.Attempt, Warnings: now.Warnings,
		Findings: Findings(before, now)}
	if !now.Began.IsZero() {
		v.Runs = now.At.Sub(now.Began).Seconds()
	}
	for i := range now.Roles {
		r := &now.Roles[i]
		seen := roleViewOf(before, now, r)
		if r.Training != nil && v.Training == nil {
			v.Training = now.marked(r.Training)
		}
		v.Roles, v.Rate = append(v.Roles, seen), v.Rate+seen.Rate
		if r.Stats == nil {
			continue
		}
		v.addTables(before, r)
		if r == now.first() {
			s := r.Stats.Server
			v.Server = &serverView{s.Phase, s.Round, s.Holding > 0, s.Here, s.Left, s.Dead, s.Absent, s.Checkpoints,
				s.CheckpointAge.Seconds(), s.CheckpointTook.Seconds()}
			for _, m := range s.Members {
				is := memberView{Worker: m.Worker, State: m.State, Life: m.Life}
				if !m.Since.IsZero() {
					is.For = max(0, now.At.Sub(m.Since).Seconds())
				}
				v.Members = append(v.Members, is)
			}
		}
	}
	v.mark()
	v.State = stateOf(v)
	return v
}

// earlier is the last look at a job. For a process that has reported nothing since then, it has the report before: some
// report less often than the page is looked at.
func earlier(before, last, now *Job) *Job {
	if before == nil || last == nil {
		return last
	}
	then := *last
	then.Roles = slices.Clone(last.Roles)
	for i := range now.Roles {
		same := func(r Role) bool { return r.String() == now.Roles[i].String() }
		at, was := slices.IndexFunc(then.Roles, same), slices.IndexFunc(before.Roles, same)
		if at >= 0 && was >= 0 && now.Roles[i].State == Runs && then.Roles[at].At.Equal(now.Roles[i].At) {
			then.Roles[at] = before.Roles[was]
		}
	}
	return &then
}

// mark sets the marks of roles from the findings.
func (v *view) mark() {
	for _, f := range slices.Backward(v.Findings) { // the worst is last, and stays
		for i := range v.Roles {
			if r := &v.Roles[i]; slices.Contains(f.Who, r.Kind+" "+strconv.Itoa(r.Index)) {
				r.Level, r.Mark = f.Level, f.Mark
			}
		}
	}
}

// stateOf is the state of a job, in one or two words.
func stateOf(v *view) string {
	of := func(states ...State) bool {
		return !slices.ContainsFunc(v.Roles, func(r roleView) bool { return !slices.Contains(states, r.State) })
	}
	switch {
	case len(v.Roles) == 0:
		return "no answer"
	case of(Ended, Failed, Away):
		return "ended"
	case slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Level == "bad" }):
		return "in trouble"
	case slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Level == "wait" }):
		return "waits"
	case v.Rate > 0:
		return "trains"
	case of(Starts):
		return "starts"
	}
	return "runs"
}

func roleViewOf(before, now *Job, r *Role) roleView {
	v := roleView{Kind: r.Kind, Index: r.Index, State: r.State, For: now.At.Sub(r.Since).Seconds(), How: r.How}
	s := r.Stats
	if s == nil {
		return v
	}
	v.Epoch, v.Steps, v.Stale = s.Work.Epoch, s.Counts.Steps, s.Counts.Staleness()
	for _, t := range s.Tables {
		v.Rows, v.Bytes = v.Rows+t.Rows, v.Bytes+t.Bytes
	}
	if r.State == Runs {
		for _, w := range s.Server.Waits {
			v.Why = cmp.Or(v.Why, w.Why)
		}
		for _, a := range s.Server.Awaited() {
			v.Awaits = append(v.Awaits, a.Worker)
		}
	}
	then := before.role(r)
	if then == nil {
		return v
	}
	took := r.At.Sub(then.At).Seconds()
	w, was := s.Work, then.Stats.Work
	v.Rate = float64(w.Examples-was.Examples) / took
	parts := [4]time.Duration{w.Input - was.Input, w.Pull - was.Pull, w.Compute - was.Compute, w.Push - was.Push}
	if all := parts[0] + parts[1] + parts[2] + parts[3]; all > 0 {
		for i, p := range parts {
			v.Parts[i] = float64(p) / float64(all)
		}
	}
	for i, l := range s.Links {
		if i < len(then.Stats.Links) {
			old := then.Stats.Links[i]
			rate := float64(l.Sent+l.Received-old.Sent-old.Received) / took
			if l.Calls == old.Calls && rate < signsOfLife {
				rate = 0
			}
			v.Traffic = append(v.Traffic, rate)
		}
	}
	return v
}

// addTables adds the tables of a server to those of the others.
func (v *view) addTables(before *Job, r *Role) {
	then := before.role(r)
	for i, t := range r.Stats.Tables {
		at := slices.IndexFunc(v.Tables, func(o tableView) bool { return o.Name == t.Name })
		if at < 0 {
			at, v.Tables = len(v.Tables), append(v.Tables, tableView{Name: t.Name})
		}
		all := &v.Tables[at]
		all.Rows, all.Bytes, all.Max = all.Rows+t.Rows, all.Bytes+t.Bytes, all.Max+t.MaxBytes
		all.Away += t.TurnedAway
		if then != nil && i < len(then.Stats.Tables) {
			all.Born += float64(t.Born-then.Stats.Tables[i].Born) / r.At.Sub(then.At).Seconds()
		}
		all.Hot = append(all.Hot, t.Hot...)
		slices.SortStableFunc(all.Hot, func(a, b stats.HotRow) int { return int(b.Updates) - int(a.Updates) })
		all.Hot = all.Hot[:min(len(all.Hot), mostHot)]
	}
	slices.SortStableFunc(v.Tables, func(a, b tableView) int { return strings.Compare(a.Name, b.Name) })
}

// signsOfLife is more than the traffic of heartbeats, in bytes a second.
const signsOfLife = 4096

// mostHot is the number of hot rows that are shown for a table.
const mostHot = 5
