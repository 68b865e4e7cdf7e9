package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/observe"
)

// made is a job of so many servers and workers that train, a while after it began.
func made(servers, workers int, after time.Duration) *Job {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	j := &Job{Name: "made", Began: began, At: began.Add(after)}
	seconds := int64(after / time.Second)
	for i := range servers {
		s := &stats.Process{Tables: []stats.Table{{Name: "<b>t</b>", Rows: 10, Bytes: 1000, MaxBytes: 2000, Born: uint64(seconds), Hot: []stats.HotRow{{ID: 7, Updates: uint32(20 + i)}}}}}
		j.Roles = append(j.Roles, Role{Kind: "server", Index: i, State: Runs, Since: began, At: j.At, Stats: s})
	}
	for i := range workers {
		s := &stats.Process{Work: stats.Work{Examples: 100 * seconds, Compute: after}}
		for k := range servers {
			s.Links = append(s.Links, stats.Link{Server: k, Sent: 1000 * seconds, Calls: 10 * seconds, Waited: after / 100})
		}
		j.Roles = append(j.Roles, Role{Kind: "worker", Index: i, State: Runs, Since: began, At: j.At, Stats: s})
	}
	return j
}

// TestFindings: what is wrong with a job is named, with whom it is about and what to do; a job that trains has none.
func TestFindings(t *testing.T) {
	worker := func(j *Job, i int) *Role { return &j.Roles[2+i] }
	fails := func(j *Job, restarts ...time.Duration) *Role {
		r := worker(j, 1)
		*r = Role{Kind: "worker", Index: 1, State: Failed, Since: j.At.Add(-5 * time.Second), How: "exit code 1", Log: "log/workerlog.1", Alone: restarts != nil}
		for _, ago := range restarts {
			r.Restarts = append(r.Restarts, j.At.Add(-ago))
		}
		return r
	}
	waits := func(j *Job, why string) {
		j.Roles[0].Stats.Server.Waits = []stats.Wait{{Why: why, Workers: []int{1}, Since: j.At.Add(-40 * time.Second)}}
	}
	for name, c := range map[string]struct {
		change   func(j *Job)
		what, do string
		marked   string // of the process that it is about
	}{
		"all is well": {func(*Job) {}, "", "", ""},
		"one that rests": {func(j *Job) { fails(j, 10*time.Second).Again = j.At.Add(2 * time.Second) },
			"worker 1 has failed 5s ago: exit code 1. It is started again in 2s.", "The last lines of its log say why: log/workerlog.1.", "worker 1 has failed"},
		"one that fails again and again": {func(j *Job) {
			fails(j, 3*time.Minute, 50*time.Second, 40*time.Second, 9*time.Second).Again = j.At.Add(time.Second)
		}, "worker 1 fails again and again: it was started again 3 times in the last 2 minutes, and has failed 5s ago: exit code 1. It is started again in 1s.",
			"log/workerlog.1.", "worker 1 fails again and again"},
		"one that failed again and again, and runs": {func(j *Job) {
			r := fails(j, 50*time.Second, 5*time.Second)
			r.State = Runs
		}, "it was started again 2 times in the last 2 minutes, and was started 5s ago.", "log/workerlog.1.", "worker 1 fails again and again"},
		"one that has recovered": {func(j *Job) {
			r := fails(j, 50*time.Second, 40*time.Second)
			r.State, r.Since = Runs, j.At.Add(-40*time.Second)
		}, "", "", ""},
		"a wait for a worker that runs": {func(j *Job) { waits(j, "at BarrierWorker"); worker(j, 1).Metrics = "127.0.0.1:9103" },
			"server 0 has waited", "http://127.0.0.1:9103/debug/pprof/goroutine?debug=2", "worker 1 is waited for"},
		"a full disk of two, in many lines": {func(j *Job) {
			long := strings.Repeat("word ", 40) + "no space left on device"
			j.Warnings = []observe.Warning{{Role: "server 1", Text: long, Count: 19, At: j.At}, {Role: "server 0", Text: long, Count: 1, At: j.At.Add(-3 * time.Second)}}
		}, "server 0 and server 1 can't write: a disk is full (said 20 times, the last 3s ago). " + strings.Repeat("word ", 32) + "…", "Free space", "server 0 disk is full"},
		"a process that fails": {func(j *Job) {
			*worker(j, 1) = Role{Kind: "worker", Index: 1, State: Failed, Since: j.At.Add(-5 * time.Second), How: "killed (signal 9)"}
		}, "worker 1 has failed 5s ago: killed (signal 9).", "--restart_workers", "worker 1 has failed"},
		"a process that is stopped": {func(j *Job) { worker(j, 0).State, worker(j, 0).Since = Silent, j.At.Add(-12*time.Second) },
			"worker 0 runs and has not answered for 12s.", "kill -CONT", "worker 0 does not answer"},
		"one that has just not answered": {func(j *Job) { worker(j, 0).State, worker(j, 0).Since = Silent, j.At.Add(-time.Second) }, "", "", ""},
		"a wait for a stopped worker": {func(j *Job) {
			worker(j, 1).State, worker(j, 1).Since = Silent, j.At
			j.Roles[0].Stats.Server.Waits = []stats.Wait{{Why: "at BarrierWorker: missing worker 1", Workers: []int{1}, Since: j.At.Add(-40 * time.Second)}}
		}, "server 0 has waited for worker 1 for 40s: it waits at BarrierWorker", "does not answer", "worker 1 is waited for"},
		"a short wait": {func(j *Job) {
			j.Roles[0].Stats.Server.Waits = []stats.Wait{{Why: "for a round", Workers: []int{1}, Since: j.At.Add(-time.Second)}}
		}, "", "", ""},
		"a wait for many": {func(j *Job) {
			j.Roles[0].Stats.Server.Waits = []stats.Wait{{Why: "for a round", Workers: []int{2, 3, 4, 5}, Since: j.At.Add(-time.Minute)}}
		}, "worker 2 and 3 more for 1m0s", "same call", ""},
		"a slow server": {func(j *Job) { worker(j, 0).Stats.Links[1].Waited = 20 * time.Second }, "server 1 is slow: workers wait", "memory", "server 1 is slow"},
		"lost workers": {func(j *Job) {
			j.Roles[0].Stats.Server.Members = []stats.Member{{Worker: 0, State: "here"}, {Worker: 1, State: "dead"}, {Worker: 7, State: "dead"}, {Worker: 8, State: "left"}}
		}, "Lost: worker 1 and worker 7.", "log of server 0", "worker 1 was lost"},
		"one that is expected back": {func(j *Job) {
			j.Roles[0].Stats.Server.Members = []stats.Member{{Worker: 1, State: "expected back"}}
			j.Roles[1].Stats.Server.Members = []stats.Member{{Worker: 0, State: "dead"}} // server 0 knows
		}, "Expected back: worker 1.", "start them again", "worker 1 is expected back"},
		"a full disk": {func(j *Job) {
			j.Warnings = []observe.Warning{{Role: "server 1", Text: "ERROR checkpoint error=\"write ckpt: no space left on device\""}}
		}, "server 1 can't write: a disk is full. ", "Free space", "server 1 disk is full"},
		"a full disk of another": {func(j *Job) {
			j.Warnings = []observe.Warning{{Role: "worker 0", Text: `WARN epoch=16 error="fleet: Checkpoint: server 0 (127.0.0.1:46339): server 1: checkpoint: part p: write /data/ckpt-7/p.tmp: no space left on device"`}}
		}, "server 1 can't write: a disk is full. ", "Free space on the disk of /data/ckpt-7,", "server 1 disk is full"},
		"a full disk of server 0": {func(j *Job) {
			j.Warnings = []observe.Warning{{Role: "worker 0", Text: `fleet: Checkpoint: saving /data: server 0 (server-0:1): checkpoint: write /data/job.lock: no space left on device`}}
		}, "server 0 can't write: a disk is full. ", "Free space on the disk of /data,", "server 0 disk is full"},
		"a full disk of a worker": {func(j *Job) {
			j.Warnings = []observe.Warning{{Role: "worker 0", Text: `ERROR asked server 12 for the server x: history.csv: no space left on device`}}
		}, "worker 0 can't write: a disk is full. ", "Free space", "worker 0 disk is full"},
		"a full table": {func(j *Job) { j.Roles[0].Stats.Tables[0].TurnedAway = 3 }, `the table "<b>t</b>" is full, and 3 gradients`, "MaxBytes", "server 0 a table is full"},
		"NaN":          {func(j *Job) { worker(j, 0).Stats.Counts.NotFinite = 2 }, "worker 0: 2 gradients were not finite.", "learning rate", "worker 0 NaN in gradients"},
		"strangers":    {func(j *Job) { j.Roles[1].Stats.Transport.Refused.Token = 4 }, "server 1: 4 connections were turned away", "FLEET_TOKEN", ""},
		"hungry workers": {func(j *Job) {
			worker(j, 0).Stats.Work.Input, worker(j, 1).Stats.Work.Input = 90*time.Second, 90*time.Second
		},
			"Workers spend 9", "Prefetch", ""},
	} {
		t.Run(name, func(t *testing.T) {
			before, now := made(2, 2, 10*time.Second), made(2, 2, 12*time.Second)
			c.change(now)
			found := Findings(before, now)
			if c.what == "" {
				if len(found) != 0 {
					t.Errorf("found %+v", found)
				}
				return
			}
			if len(found) != 1 || !strings.Contains(found[0].What, c.what) || !strings.Contains(found[0].Do, c.do) {
				t.Errorf("found %+v, want %q and %q", found, c.what, c.do)
			}
			marked := ""
			for _, r := range viewOf(before, now).Roles {
				if r.Mark != "" && marked == "" {
					marked = fmt.Sprintf("%s %d %s", r.Kind, r.Index, r.Mark)
				}
				if (r.Mark != "") != (r.Level != "") {
					t.Errorf("a process has the level %q and the mark %q", r.Level, r.Mark)
				}
			}
			if marked != c.marked || strings.Contains(found[0].What, "…") && !strings.HasSuffix(found[0].Whole, "device") {
				t.Errorf("marked: %s, want %s; of %q", marked, c.marked, found[0].Whole)
			}
			if Findings(nil, made(2, 2, time.Second)) != nil {
				t.Error("a first look finds something")
			}
		})
	}
}

// TestView: rates are those between two looks, tables those of all servers, and a process that was started again meanwhile has none.
func TestView(t *testing.T) {
	before, now := made(2, 2, 10*time.Second), made(2, 2, 12*time.Second)
	v := viewOf(before, now)
	if v.Rate != 200 || v.State != "trains" || v.Runs != 12 || v.Roles[2].Traffic[1] != 1000 || v.Roles[2].Parts[2] != 1 {
		t.Errorf("%+v", v)
	}
	if tables := v.Tables; len(tables) != 1 || tables[0].Rows != 20 || tables[0].Max != 4000 || tables[0].Born != 2 || tables[0].Hot[0].Updates != 21 {
		t.Errorf("tables %+v", tables)
	}
	still := made(2, 2, 12*time.Second)
	for i := range still.Roles[2].Stats.Links {
		still.Roles[2].Stats.Links[i].Calls = before.Roles[2].Stats.Links[i].Calls
	}
	still.Roles[2].Stats.Links[1].Sent += 1 << 20 // a save
	if got := viewOf(before, still).Roles[2].Traffic; got[0] != 0 || got[1] < 1<<19 {
		t.Errorf("signs of life alone, and a megabyte: %v bytes a second", got)
	}
	again := made(2, 2, 12*time.Second)
	again.Roles[2].Stats.Work = stats.Work{}
	again.Roles[2].Training = &observe.Training{Epochs: 3}
	if v := viewOf(before, again); v.Rate != 100 || v.Roles[2].Rate != 0 || v.Training.Epochs != 3 {
		t.Errorf("behind a restart: %+v", v)
	}
	for state, change := range map[string]func(*Job){
		"ended":      func(j *Job) { become(j, Ended) },
		"starts":     func(j *Job) { become(j, Starts) },
		"in trouble": func(j *Job) { j.Roles[0].State = Failed },
		"waits":      func(j *Job) { j.Roles[0].Stats.Server.Waits = []stats.Wait{{Since: j.At.Add(-time.Minute)}} },
	} {
		j := made(2, 2, time.Second)
		if change(j); viewOf(nil, j).State != state {
			t.Errorf("it %s, want %s", viewOf(nil, j).State, state)
		}
	}
}

func become(j *Job, is State) {
	for i := range j.Roles {
		j.Roles[i].State, j.Roles[i].Stats = is, nil
	}
}

// TestWhoIsDownWaitsForNobody: what a process waited for when it was last heard is not drawn any more when it has ended.
func TestWhoIsDownWaitsForNobody(t *testing.T) {
	for state, want := range map[State]int{Runs: 1, Ended: 0, Away: 0} {
		j := made(1, 2, time.Minute)
		j.Roles[0].State, j.Roles[0].Stats.Server.Waits = state, []stats.Wait{{Why: "for a round", Workers: []int{1}, Since: j.At}}
		if r := viewOf(nil, j).Roles[0]; len(r.Awaits) != want || (r.Why != "") != (want > 0) {
			t.Errorf("a server that %s waits for %v, %s", state, r.Awaits, r.Why)
		}
	}
}

// TestMembers: all workers of the job are shown as server 0 knows them, be they of other machines.
func TestMembers(t *testing.T) {
	j := made(2, 1, time.Minute)
	j.Roles[0].Stats.Server.Members = []stats.Member{{Worker: 0, State: "here", Life: 2, Since: j.At.Add(-5 * time.Second)}, {Worker: 1, State: "absent"}}
	if got := fmt.Sprintf("%+v", viewOf(nil, j).Members); got != "[{Worker:0 State:here Life:2 For:5} {Worker:1 State:absent Life:0 For:0}]" {
		t.Error(got)
	}
}

// TestCheckpointsAreMarked: the curves show where a job was when a checkpoint became whole, also behind a restart of its servers.
func TestCheckpointsAreMarked(t *testing.T) {
	saved, examples := 3, 0.0
	p := new(Page)
	p.source = func(context.Context) Job {
		j := made(1, 2, time.Minute)
		j.Roles[0].Stats.Server.Checkpoints = saved
		j.Roles[1].Training = &observe.Training{Marks: []observe.Mark{{At: 1, Kind: "epoch"}},
			Curves: []observe.Curve{{Panel: "loss", Name: "train", Points: [][2]float64{{0, 1}, {examples, 1}}}}}
		return *j
	}
	look := func(count int, at float64) (said string) {
		saved, examples, p.last = count, at, nil
		var v struct{ Training observe.Training }
		law.Check(t, json.Unmarshal(p.look(), &v))
		for _, m := range v.Training.Marks {
			said += fmt.Sprintf("%s %v, ", m.Kind, m.At)
		}
		return said
	}
	for _, c := range []struct {
		count int
		at    float64
		want  string
	}{{3, 100, "epoch 1, "}, {3, 150, "epoch 1, "}, {4, 200, "epoch 1, checkpoint 200, "}, {0, 250, "epoch 1, checkpoint 200, "},
		{1, 300, "epoch 1, checkpoint 200, checkpoint 300, "}} {
		if got := look(c.count, c.at); got != c.want {
			t.Errorf("behind %d checkpoints at %v: %s, want %s", c.count, c.at, got, c.want)
		}
	}
}

// TestManyWorkers: what a browser is sent of 200 workers and 8 servers is small.
func TestManyWorkers(t *testing.T) {
	b, err := json.Marshal(viewOf(made(8, 200, 10*time.Second), made(8, 200, 12*time.Second)))
	if err != nil || len(b) > 100_000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// TestDoor: nobody looks without the token, or by another name; the token becomes a cookie once, and a page may load only its own files.
func TestDoor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	law.Check(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	looks := 0
	p := New("train.example:8900", "right", l, func(context.Context) Job { looks++; return *made(1, 1, time.Second) })
	cookie := "gofleet_ui_" + port + "="
	for _, c := range []struct {
		path, host, header string
		status             int
		want               string
	}{
		{"/", "127.0.0.1:1", "", 401, "…/?token=…"},
		{"/job.json", "127.0.0.1:1", "", 401, ""},
		{"/page.js", "127.0.0.1:1", "", 401, ""},
		{"/?token=wrong", "127.0.0.1:1", "", 401, ""},
		{"/?token=", "127.0.0.1:1", "", 401, ""},
		{"/job.json?token=right", "127.0.0.1:1", "", 401, ""},
		{"/", "127.0.0.1:1", "Cookie: " + cookie + "wrong", 401, ""},
		{"/", "127.0.0.1:1", "Cookie: gofleet_ui_1=right", 401, ""},
		{"/", "127.0.0.1:1", "Authorization: Bearer wrong", 401, ""},
		{"/?token=right", "127.0.0.1:1", "", 303, "Set-Cookie: " + cookie + "right; Path=/; HttpOnly; SameSite=Strict"},
		{"/?token=right", "evil.example", "", 421, ""},
		{"/", "evil.example:8900", "Cookie: " + cookie + "right", 421, ""},
		{"/", "", "Cookie: " + cookie + "right", 421, ""},
		{"/", "localhost:1", "Cookie: a=b; " + cookie + "right", 200, "default-src 'none'"},
		{"/", "[::1]:1", "Authorization: Bearer right", 200, "frame-ancestors 'none'"},
		{"/page.css", "train.example:8900", "Cookie: " + cookie + "right", 200, "text/css"},
		{"/page.js", "10.0.0.1:1", "Cookie: " + cookie + "right", 200, "text/javascript"},
		{"/job.json", "10.0.0.1", "Cookie: " + cookie + "right", 200, "application/json"},
		{"/else", "10.0.0.1", "Cookie: " + cookie + "right", 404, ""},
	} {
		path, query, _ := strings.Cut(c.path, "?")
		values, _ := url.ParseQuery(query)
		r := &observe.Request{Path: path, Query: values, Header: textproto.MIMEHeader{"Host": {c.host}}}
		if name, value, ok := strings.Cut(c.header, ": "); ok {
			r.Header.Set(name, value)
		}
		a := p.Answer(r)
		if said := a.Type + strings.Join(a.Header, "\n") + string(a.Body); a.Status != c.status || !strings.Contains(said, c.want) {
			t.Errorf("%s as %s with %q: %d %.300s, want %d %s", c.path, c.host, c.header, a.Status, said, c.status, c.want)
		}
	}
	if looks != 1 {
		t.Errorf("the job was looked at %d times", looks)
	}
}

// TestFiles: the page is small, writes no markup, and names no other host.
func TestFiles(t *testing.T) {
	if n := len(html) + len(css) + len(js); n > 60_000 {
		t.Errorf("%d bytes", n)
	}
	for _, text := range []string{string(html), string(css), string(js)} {
		for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=", "onclick", "https:", "//cdn"} {
			if strings.Contains(text, word) {
				t.Errorf("there is %s", word)
			}
		}
		if n := strings.Count(text, "http:"); n > 1 { // the name of SVG
			t.Errorf("http: comes %d times", n)
		}
	}
}

// TestRolesThatAreHeardLessOften: a rate is that between the last two times at which a process said something, however often a page looks, and
// none of one that says nothing more.
func TestRolesThatAreHeardLessOften(t *testing.T) {
	p := new(Page)
	var at []time.Duration // what the worker said last, by look
	var state State
	p.source = func(context.Context) Job {
		j := made(1, 1, at[0])
		j.Roles[1].State, at = state, at[1:]
		return *j
	}
	for _, c := range []struct {
		at    time.Duration
		state State
		want  float64
	}{{10 * time.Second, Runs, 0}, {12 * time.Second, Runs, 100}, {12 * time.Second, Runs, 100}, {12 * time.Second, Runs, 100}, {15 * time.Second, Runs, 100}, {15 * time.Second, Silent, 0}} {
		if p.last != nil {
			p.last.At = time.Time{} // long ago
		}
		at, state = append(at, c.at), c.state
		var v struct{ Rate float64 }
		if err := json.Unmarshal(p.look(), &v); err != nil || v.Rate != c.want {
			t.Errorf("%v, %s: rate %v, %v, want %v", c.at, c.state, v.Rate, err, c.want)
		}
	}
}

// TestNear: an address at which a process listens is one that callers on its machine can use.
func TestNear(t *testing.T) {
	for addr, want := range map[string]string{":9100": "127.0.0.1:9100", "0.0.0.0:1": "127.0.0.1:1", "[::]:1": "127.0.0.1:1", "localhost:1": "127.0.0.1:1", "10.0.0.1:1": "10.0.0.1:1", ":0": "", "": "", "x": ""} {
		if got := Near(addr); got != want {
			t.Errorf("near %s: %q, want %q", addr, got, want)
		}
	}
}
