package observe

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/internal/law"
)

// TestPage shows roles, in the place of what they were before, profiles to callers on this machine, and nothing else.
func TestPage(t *testing.T) {
	p := new(Page)
	show := func(role string, value int64) {
		p.Show(role, func() Role {
			return Role{Kind: role, Stats: &stats.Process{Counts: stats.Counts{Steps: value}}}
		})
	}
	show("server", 1)
	show("worker", 2)
	show("server", 3)
	ask := func(path, from string) (int, string) {
		at, query, _ := strings.Cut(path, "?")
		values, err := url.ParseQuery(query)
		law.Check(t, err)
		a := p.Answer(&Request{Path: at, Query: values, Remote: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))})
		return a.Status, string(a.Body)
	}
	near, far := "127.0.0.1:1", "10.0.0.1:1"
	for path, code := range map[string]int{"/metrics": 200, "/debug/pprof/goroutine": 421} { // of a page that all machines reach
		if a := p.Answer(&Request{Path: path, Header: textproto.MIMEHeader{"Host": {"trainer-0.svc"}},
			Remote: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(near))}); a.Status != code {
			t.Errorf("%s of trainer-0.svc: %d, want %d", path, a.Status, code)
		}
	}
	if code, text := ask("/metrics", far); code != http.StatusOK ||
		!strings.Contains(text, "gofleet_worker_steps_total{role=\"worker\",index=\"0\"} 2\ngofleet_worker_steps_total{role=\"server\",index=\"0\"} 3\n") {
		t.Errorf("metrics: %d %s", code, text)
	}
	for _, k := range []struct {
		path, from string
		code       int
	}{
		{"/debug/pprof/goroutine", near, http.StatusOK},
		{"/debug/pprof/heap?debug=1", "[::1]:7", http.StatusOK},
		{"/debug/pprof/goroutine", far, http.StatusForbidden},
		{"/debug/pprof/profile?seconds=1", far, http.StatusForbidden},
		{"/debug/pprof/nothing", near, http.StatusNotFound},
		{"/debug/pprof/", near, http.StatusNotFound},
		{"/", near, http.StatusNotFound},
	} {
		if code, text := ask(k.path, k.from); code != k.code || text == "" {
			t.Errorf("%s from %s: %d %.80q, want %d", k.path, k.from, code, text, k.code)
		}
	}
}

var opened int

// TestOpen listens on loopback unless another address is named, once for all roles of the process.
func TestOpen(t *testing.T) {
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	opened++ // the process has a page for each address, as long as it lasts
	port := ":" + strings.Repeat("0", opened)
	one, err := Open(port, "", log)
	law.Check(t, err)
	if again, err := Open(port, "", log); again != one || err != nil {
		t.Errorf("a second page of one address, %v", err)
	}
	_, at, _ := strings.Cut(said.String(), "at=")
	at = strings.TrimSpace(at)
	if !strings.HasPrefix(at, "http://127.0.0.1:") {
		t.Fatalf("it says %s", &said)
	}
	one.Show("server", func() Role { return Role{Kind: "server", Stats: new(stats.Process)} })
	answer, err := http.Get(at)
	law.Check(t, err)
	defer answer.Body.Close()
	for host, code := range map[string]int{"localhost": 200, "localhost:9100": 200, "127.0.0.1:1": 200, "[::1]": 200, "10.1.2.3": 200,
		"evil.example": 421, "evil.example:9100": 421, "127.0.0.1.evil.example": 421} {
		r, _ := http.NewRequest("GET", at, nil)
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != code {
			t.Fatalf("%s: %v, %v, want %d", host, answer, err, code)
		}
		answer.Body.Close()
	}
	if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), "gofleet_worker_steps_total{role=\"server\",index=\"0\"} 0\n") {
		t.Errorf("%s: %s, %v", at, text, err)
	}
	for _, addr := range []string{"9100", "127.0.0.1:0:0", strings.TrimSuffix(strings.TrimPrefix(at, "http://"), "/metrics")} {
		if _, err := Open(addr, "", log); err == nil || !strings.Contains(err.Error(), "want an address") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// TestStatus: a process says what its roles are and count, at times of the clock of who asks, to who has its token; without one, to callers on its
// machine. It says so by no name of another host.
func TestStatus(t *testing.T) {
	slow := time.Now().Add(-time.Hour) // the clock of the process
	role := func() Role {
		s := new(stats.Process)
		s.Server.Waits = []stats.Wait{{Why: "for it", Since: slow}}
		s.Server.Members = []stats.Member{{Worker: 1, Since: slow}, {Worker: 2}}
		return Role{Kind: "worker", Index: 3, Runs: true, Began: slow, Stats: s, Warnings: []Warning{{Text: "WARN low", At: slow}}, Training: &Training{Epochs: 5}}
	}
	p := &Page{token: "right", name: "train.example"}
	p.Show("worker 3", role)
	l, err := Listen(":0")
	law.Check(t, err)
	served := make(chan error)
	go func() { served <- Serve(l, p.Answer) }()
	defer func() { l.Close(); <-served }()
	s, err := Ask(t.Context(), l.Addr().String(), "right")
	if err != nil || len(s.Roles) != 1 || s.Roles[0].Index != 3 || !s.Roles[0].Began.Equal(s.Roles[0].Warnings[0].At) || s.Roles[0].Training.Epochs != 5 || s.Program == "" {
		t.Fatalf("%+v, %v", s, err)
	}
	addr := listen(t, func(*Request) Answer {
		return made("", func(w io.Writer) error {
			return json.NewEncoder(w).Encode(Status{Now: slow, Roles: []Role{role(), {}}})
		})
	})
	s, err = Ask(t.Context(), addr, "")
	law.Check(t, err)
	ours := func(at time.Time) bool { return time.Since(at) < time.Minute }
	if r := s.Roles[0]; !ours(s.Now) || !ours(r.Began) || !ours(r.Warnings[0].At) || !ours(r.Stats.Server.Waits[0].Since) || !ours(r.Stats.Server.Members[0].Since) ||
		!r.Stats.Server.Members[1].Since.IsZero() {
		t.Errorf("times of another clock: %+v, %+v", r, r.Stats.Server)
	}
	if _, err := Ask(t.Context(), l.Addr().String(), "wrong"); err == nil || !strings.Contains(err.Error(), "give all roles, and fleetrun watch, the same FLEET_UI_TOKEN") {
		t.Errorf("by another token: %v", err)
	}
	open := new(Page)
	for _, k := range []struct {
		page              *Page
		host, from, token string
		code              int
	}{
		{p, "10.0.0.1:9100", "10.0.0.2:1", "right", 200}, {p, "train.example", "10.0.0.2:1", "right", 200}, {p, "evil.example", "127.0.0.1:1", "right", 421},
		{p, "10.0.0.1:9100", "127.0.0.1:1", "", 401}, {p, "10.0.0.1:9100", "127.0.0.1:1", "righ", 401},
		{open, "localhost:9100", "127.0.0.1:1", "", 200}, {open, "localhost:9100", "[::1]:1", "any", 200}, {open, "10.0.0.1:9100", "10.0.0.2:1", "", 403}, {open, "evil.example", "127.0.0.1:1", "", 421},
	} {
		a := k.page.Answer(&Request{Path: "/status", Remote: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(k.from)),
			Header: textproto.MIMEHeader{"Host": {k.host}, "Authorization": {"Bearer " + k.token}}})
		if a.Status != k.code {
			t.Errorf("as %s from %s with %q: %d %s, want %d", k.host, k.from, k.token, a.Status, a.Body, k.code)
		}
	}
}
