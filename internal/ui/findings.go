package ui

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/observe"
)

// Finding is a problem of a job, or a remark, with what to do.
type Finding struct {
	Level string   `json:"level"` // bad, wait or note
	What  string   `json:"what"`
	Whole string   `json:"whole"` // the line of a log of which What has the beginning
	Do    string   `json:"do"`
	Who   []string `json:"who"`  // the processes concerned, such as worker 1
	Mark  string   `json:"mark"` // the label of each in the picture
}

// Limits for findings.
const (
	longSilence = 3 * time.Second
	longWait    = 2 * time.Second
	slowCall    = 50 * time.Millisecond // above the fastest other server

	lately    = 2 * time.Minute  // window in which restarts are counted
	loop      = 2                // restarts within lately
	soonAgain = 30 * time.Second // time after a start in which a process may end as the one before did
)

// Findings returns a job's findings, the worst first; before is the job a moment ago, nil for the first look.
func Findings(before, now *Job) (all []Finding) {
	for i := range now.Roles {
		switch r := &now.Roles[i]; {
		case r.State == Failed || loops(now, r) > 0:
			all = append(all, failed(now, r))
		case r.State == Silent && now.At.Sub(r.Since) > longSilence:
			all = append(all, Finding{Level: "bad", Who: []string{r.String()}, Mark: "does not answer",
				What: fmt.Sprintf("%v runs and has not answered for %s.", r, ago(now, r.Since)),
				Do:   "Look whether it is stopped (kill -CONT), swaps, or shares its processors with others."})
		}
	}
	all = append(all, full(now)...)
	all = append(all, waits(now)...)
	all = append(all, slow(before, now)...)
	for i := range now.Roles {
		if s := now.Roles[i].Stats; s != nil {
			all = append(all, counted(&now.Roles[i], s)...)
		}
	}
	all = append(all, hungry(before, now)...)
	rank := func(f Finding) int { return slices.Index([]string{"bad", "wait", "note"}, f.Level) }
	slices.SortStableFunc(all, func(a, b Finding) int { return rank(a) - rank(b) })
	return all
}

// loops is how often a process was started again lately. It is 0 for a process that is not started again repeatedly, as
// far as that can be seen soon after a start.
func loops(now *Job, r *Role) (n int) {
	for _, at := range r.Restarts {
		if now.At.Sub(at) < lately {
			n++
		}
	}
	if r.State == Ended || r.State != Failed && now.At.Sub(r.Since) > soonAgain || n < loop {
		return 0
	}
	return n
}

// failed is the finding for a process that has failed, or that fails repeatedly.
func failed(now *Job, r *Role) Finding {
	f := Finding{Level: "bad", Who: []string{r.String()}, Mark: "has failed",
		Do: strings.TrimSuffix("The last lines of its log say why: "+r.Log, ": ") + "."}
	f.What = fmt.Sprintf("%v has failed %s ago: %s.", r, ago(now, r.Since), r.How)
	if n := loops(now, r); n > 0 {
		f.Mark = "fails again and again"
		if f.What = strings.TrimPrefix(f.What, r.String()); r.State != Failed {
			f.What = fmt.Sprintf(" was started %s ago.", ago(now, r.Since))
		}
		f.What = fmt.Sprintf("%v fails again and again: it was started again %d times in the last %.0f minutes, and%s",
			r, n, lately.Minutes(), f.What)
	}
	switch {
	case !r.Again.IsZero():
		f.What += fmt.Sprintf(" It is started again in %s.", brief(max(0, r.Again.Sub(now.At))))
	case !r.Alone:
		f.Do += " It comes back alone if fleetrun has --restart_" + r.Kind + "s, and all go back to the last " +
			"checkpoint with --max_restart."
	}
	return f
}

func ago(now *Job, since time.Time) string { return brief(now.At.Sub(since)) }

func brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(time.Second / 10).String()
	}
	return d.Round(time.Second).String()
}

// full finds full disks.
func full(now *Job) []Finding {
	f, last, count := Finding{Level: "bad", Mark: "disk is full"}, observe.Warning{}, 0
	for _, w := range now.Warnings {
		if strings.Contains(w.Text, "no space left on device") {
			last, count = w, count+w.Count
			if who := writer(w); !slices.Contains(f.Who, who) {
				f.Who = append(f.Who, who)
			}
		}
	}
	if f.Who == nil {
		return nil
	}
	slices.Sort(f.Who)
	often := ""
	if count > 1 {
		often = fmt.Sprintf(" (said %d times, the last %s ago)", count, ago(now, last.At))
	}
	f.What = fmt.Sprintf("%s can't write: a disk is full%s. %s", strings.Join(f.Who, " and "), often, cut(last.Text))
	f.Whole = last.Text
	f.Do = "Free space on the disk of the directory that it names, or start the job again with another one."
	if path := fullPath.FindStringSubmatch(last.Text); path != nil {
		f.Do = "Free space on the disk of " + filepath.Dir(path[1]) + ", or start the job again with another directory."
	}
	return []Finding{f}
}

// fullPath matches the file that could not be written, in the form of Go's errors.
var fullPath = regexp.MustCompile(`\bwrite (\S+): no space left on device`)

// cut is the beginning of a long line, up to the end of a word.
func cut(line string) string {
	if len(line) <= mostOfLine {
		return line
	}
	line = strings.ToValidUTF8(line[:mostOfLine], "")
	if at := strings.LastIndexByte(line, ' '); at > 0 {
		line = line[:at]
	}
	return line + " …"
}

const mostOfLine = 160

// writer is the role with the full disk in a warning: the last server that the error came through, or else the role
// that logged it.
func writer(w observe.Warning) string {
	for at := len(w.Text); ; {
		if at = strings.LastIndex(w.Text[:at], "server "); at < 0 {
			return w.Role
		}
		rest := strings.TrimLeft(w.Text[at+len("server "):], "0123456789")
		name := strings.TrimSuffix(w.Text[at:], rest)
		if strings.HasPrefix(rest, " (") { // its endpoint
			_, rest, _ = strings.Cut(rest, ")")
		}
		if !strings.HasSuffix(name, " ") && strings.HasPrefix(rest, ":") {
			return name
		}
	}
}

// waits finds what servers wait for, one finding for each group of awaited workers.
func waits(now *Job) (all []Finding) {
	type awaited struct {
		since time.Time
		why   string
		by    string
		who   []string
	}
	whose := map[string]awaited{}
	for i := range now.Roles {
		s := now.Roles[i].Stats
		if s == nil || now.Roles[i].State != Runs {
			continue
		}
		for _, w := range s.Server.Waits {
			if now.At.Sub(w.Since) < longWait {
				continue
			}
			whom := names(w.Workers)
			if is, known := whose[whom]; !known || w.Since.Before(is.since) {
				whose[whom] = awaited{w.Since, w.Why, now.Roles[i].String(), each(w.Workers)}
			}
		}
	}
	for whom, w := range whose {
		what := fmt.Sprintf("%s has waited for %s for %s: it waits %s.", w.by, cmp.Or(whom, "others"),
			ago(now, w.since), w.why)
		all = append(all, Finding{Level: "wait", What: what, Do: remedy(now, whom), Who: w.who, Mark: "is waited for"})
	}
	slices.SortFunc(all, func(a, b Finding) int { return strings.Compare(a.What, b.What) })
	return all
}

// names lists workers for a person.
func names(workers []int) string {
	switch n := len(workers); {
	case n == 0:
		return ""
	case n > 3:
		return fmt.Sprintf("worker %d and %d more", workers[0], n-1)
	}
	return strings.Join(each(workers), " and ")
}

func each(workers []int) (names []string) {
	for _, w := range workers {
		names = append(names, fmt.Sprint("worker ", w))
	}
	return names
}

// remedy is what to do about a worker that others wait for.
func remedy(now *Job, whom string) string {
	at := slices.IndexFunc(now.Roles, func(r Role) bool { return r.String() == whom })
	switch {
	case at < 0:
		return "Look at the logs of those that are waited for: all have to come to the same call."
	case now.Roles[at].State == Failed || now.Roles[at].State == Ended:
		return "That process has ended: nobody comes, until the worker timeout counts it as dead."
	case now.Roles[at].State == Away:
		return "That process has ended: others wait until it comes back, or counts as dead."
	case now.Roles[at].State == Silent:
		return "That process runs and does not answer: look whether it is stopped or swaps."
	}
	return "That worker runs: it computes a long step, reads slowly, or does not come to the call that the others " +
		"wait in. Where it is: its goroutines are at http://" + now.Roles[at].Metrics +
		"/debug/pprof/goroutine?debug=2, for callers on its machine."
}

// slow finds a server for whose answers workers wait longer than for the others', since the last look.
func slow(before, now *Job) (all []Finding) {
	means := map[int]time.Duration{}
	for server, l := range links(before, now) {
		if l.Calls > 0 {
			means[server] = l.Waited / time.Duration(l.Calls)
		}
	}
	for server, mean := range means {
		least := mean
		for other, m := range means {
			if other != server {
				least = min(least, m)
			}
		}
		if mean > 4*least && mean-least > slowCall {
			what := fmt.Sprintf("server %d is slow: workers wait %s for each answer of it, and %s for the fastest "+
				"other's.", server, brief(mean), brief(least))
			all = append(all, Finding{Level: "bad", What: what, Who: []string{fmt.Sprint("server ", server)},
				Mark: "is slow", Do: "Look what else its machine does, at its memory and at the way " +
					"there; a server with most of the weights wants another placement."})
		}
	}
	return all
}

// links are the exchanges of all workers together with each server between two looks.
func links(before, now *Job) map[int]stats.Link {
	sum := map[int]stats.Link{}
	for i := range now.Roles {
		then := before.role(&now.Roles[i])
		if now.Roles[i].Stats == nil || then == nil {
			continue
		}
		for k, l := range now.Roles[i].Stats.Links {
			if k < len(then.Stats.Links) {
				all, was := sum[l.Server], then.Stats.Links[k]
				all.Calls, all.Waited = all.Calls+l.Calls-was.Calls, all.Waited+l.Waited-was.Waited
				sum[l.Server] = all
			}
		}
	}
	return sum
}

// role returns an earlier state of a role, nil if that was another process, or has reported nothing since.
func (j *Job) role(of *Role) *Role {
	if j == nil || of.Stats == nil {
		return nil
	}
	for i := range j.Roles {
		r := &j.Roles[i]
		if r.Kind == of.Kind && r.Index == of.Index && r.Stats != nil && r.At.Before(of.At) &&
			r.Stats.Work.Examples <= of.Stats.Work.Examples && r.Stats.Transport.Served <= of.Stats.Transport.Served {
			return r
		}
	}
	return nil
}

// counted finds counters of a process that should be zero.
func counted(r *Role, s *stats.Process) (all []Finding) {
	note := func(level, mark, do, what string, args ...any) {
		f := Finding{Level: level, What: fmt.Sprintf("%v: ", r) + fmt.Sprintf(what, args...), Do: do, Mark: mark}
		if mark != "" {
			f.Who = []string{r.String()}
		}
		all = append(all, f)
	}
	if r.Index == 0 && r.Kind == "server" {
		all = missing(s.Server.Members)
	}
	for _, t := range s.Tables {
		if t.TurnedAway > 0 {
			note("bad", "a table is full", "Raise its MaxBytes, give it an Evict or an Entry, or Shrink it more often.",
				"the table %q is full, and %d gradients of ids without a row were dropped.", t.Name, t.TurnedAway)
		}
	}
	if s.Counts.NotFinite > 0 {
		note("bad", "NaN in gradients", "Lower the learning rate, clip gradients, and look for NaN in the data "+
			"(-check).", "%d gradients were not finite.", s.Counts.NotFinite)
	}
	if n := s.Transport.Refused; n.Token+n.Certificate+n.Plaintext+n.Cluster > 0 {
		note("note", "", "Another job may have this address, or a process lacks this job's FLEET_TOKEN or "+
			"certificates.", "%d connections were turned away.", n.Token+n.Certificate+n.Plaintext+n.Cluster)
	}
	return all
}

// missing finds workers that are gone before their work was done.
func missing(members []stats.Member) (all []Finding) {
	who := map[string][]int{}
	for _, m := range members {
		who[m.State] = append(who[m.State], m.Worker)
	}
	if lost := who["dead"]; lost != nil {
		all = append(all, Finding{Level: "bad", Who: each(lost), Mark: "was lost", What: "Lost: " + names(lost) + ".",
			Do: "The log of server 0 says when and why. What they had not pushed is missing in this epoch."})
	}
	if away := who["expected back"]; away != nil {
		all = append(all, Finding{Level: "note", Who: each(away), Mark: "is expected back",
			What: "Expected back: " + names(away) + ".",
			Do:   "They were asked to end, or killed: start them again, if nothing else does that."})
	}
	return all
}

// hungry finds workers that spend most of their time on their input.
func hungry(before, now *Job) []Finding {
	var input, all time.Duration
	for i := range now.Roles {
		if then := before.role(&now.Roles[i]); then != nil {
			w, was := now.Roles[i].Stats.Work, then.Stats.Work
			input += w.Input - was.Input
			all += w.Input + w.Pull + w.Compute + w.Push - was.Input - was.Pull - was.Compute - was.Push
		}
	}
	if all < time.Second || input < all*7/10 {
		return nil
	}
	what := fmt.Sprintf("Workers spend %d %% of their time between steps: on rows, evaluations and checkpoints.",
		100*input/all)
	return []Finding{{Level: "note", What: what,
		Do: "If it is rows: pack the files, read them on more goroutines, or Prefetch more."}}
}
