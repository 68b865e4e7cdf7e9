package exposition

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/httpget"
)

// Page shows the roles that this process plays.
type Page struct {
	mu    sync.Mutex
	roles []role
}

type role struct {
	name string
	sets func() []Set
}

// pages has a page for each address at which this process listens, as long as it lasts.
var pages struct {
	sync.Mutex
	at map[string]*Page
}

// Open is the page of an address, where this process listens from the first call on.
func Open(addr string, log *slog.Logger) (*Page, error) {
	pages.Lock()
	defer pages.Unlock()
	if p := pages.at[addr]; p != nil {
		return p, nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: want an address such as :9100 or 0.0.0.0:9100", err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("%w: want an address for this process alone, such as :9100", err)
	}
	p := new(Page)
	if pages.at == nil {
		pages.at = map[string]*Page{}
	}
	pages.at[addr] = p
	log.Info("metrics are shown", "at", "http://"+l.Addr().String()+"/metrics")
	go func() { _ = httpget.Serve(l, p.Answer) }() // to the end of the process
	return p, nil
}

// Show shows a role, in the place of what this process played by that name before. What a role has counted is shown
// until the process ends.
func (p *Page) Show(name string, sets func() []Set) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roles = append(slices.DeleteFunc(p.roles, func(o role) bool { return o.name == name }), role{name, sets})
}

// Answer answers a request: the counts to all, profiles to callers on the same machine.
func (p *Page) Answer(r *httpget.Request) httpget.Answer {
	name, profile := strings.CutPrefix(r.Path, "/debug/pprof/")
	switch {
	case r.Path == "/metrics":
		return httpget.Answer{Status: http.StatusOK, Type: "text/plain; version=0.0.4; charset=utf-8",
			Stream: func(w io.Writer) error { return Write(w, p.sets()...) }}
	case profile && name != "" && !local(r.Remote):
		return httpget.Text(http.StatusForbidden, "profiles are for callers on the same machine")
	case profile && name == "profile":
		return httpget.Answer{Status: http.StatusOK, Type: binary,
			Stream: func(w io.Writer) error { return spend(w, r) }}
	case profile && pprof.Lookup(name) != nil:
		debug, _ := strconv.Atoi(r.Query.Get("debug"))
		return httpget.Answer{Status: http.StatusOK, Type: map[bool]string{true: binary}[debug == 0],
			Stream: func(w io.Writer) error { return pprof.Lookup(name).WriteTo(w, debug) }}
	case profile && name != "":
		return httpget.Text(http.StatusNotFound, "there is no profile "+strconv.Quote(name))
	}
	return httpget.Text(http.StatusNotFound, "there are /metrics and /debug/pprof/{profile,heap,goroutine,…}")
}

// binary is the type of what "go tool pprof" reads.
const binary = "application/octet-stream"

func (p *Page) sets() (all []Set) {
	p.mu.Lock()
	roles := slices.Clone(p.roles)
	p.mu.Unlock()
	for _, r := range roles {
		all = append(all, r.sets()...)
	}
	return all
}

func local(addr net.Addr) bool {
	at, is := addr.(*net.TCPAddr)
	return is && at.IP.IsLoopback()
}

// longest is how long a profile of the processor may take.
const longest = time.Minute

// spend writes what the processor does for ?seconds=, 10 without it.
func spend(w io.Writer, r *httpget.Request) error {
	seconds, err := strconv.Atoi(r.Query.Get("seconds"))
	if err != nil || seconds <= 0 {
		seconds = 10
	}
	if err := pprof.StartCPUProfile(w); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	t := time.NewTimer(min(time.Duration(seconds)*time.Second, longest))
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Gone():
	}
	return nil
}
