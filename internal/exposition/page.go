package exposition

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/httpget"
	"github.com/gofleet/gofleet/internal/profiled"
)

// Page shows the counters of this process's roles.
type Page struct {
	whole bool // also show the roles' full state
	// name is the host in the page's address, and inner says that only this machine reaches it.
	name  string
	inner bool
	mu    sync.Mutex
	roles []role
}

type role struct {
	name  string
	sets  func() []Set
	stats func() any
}

// pages holds a page for each address at which this process listens, until it ends.
var pages struct {
	sync.Mutex
	at map[string]*Page
}

// Open returns the page of an address. The first call for an address listens there, and returns an error if it can't.
func Open(addr string, log *slog.Logger) (*Page, error) {
	p := new(Page)
	return open(addr, p, func() (net.Listener, error) {
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
		p.name, p.inner = host, local(l.Addr())
		log.Info("metrics are shown", "at", "http://"+l.Addr().String()+"/metrics")
		return l, nil
	})
}

// OpenWhole returns the page of a unix socket, which also shows the roles' full state. An existing socket of that name
// belongs to an earlier process, and is replaced.
func OpenWhole(path string, _ *slog.Logger) (*Page, error) {
	return open(path, &Page{whole: true}, func() (net.Listener, error) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return net.Listen("unix", path)
	})
}

func open(addr string, p *Page, listen func() (net.Listener, error)) (*Page, error) {
	pages.Lock()
	defer pages.Unlock()
	if is := pages.at[addr]; is != nil {
		return is, nil
	}
	l, err := listen()
	if err != nil {
		return nil, err
	}
	if pages.at == nil {
		pages.at = map[string]*Page{}
	}
	pages.at[addr] = p
	go func() { _ = httpget.Serve(l, p.Answer) }() // until the process ends
	return p, nil
}

// Show adds a role, in place of an earlier one of the same name: its samples and, for a page of OpenWhole, its state as
// JSON. The page shows a role until the process ends.
func (p *Page) Show(name string, sets func() []Set, stats func() any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roles = append(slices.DeleteFunc(p.roles, func(o role) bool { return o.name == name }), role{name, sets, stats})
}

// Answer answers a request: counters to all callers, profiles to callers on the same machine. A browser on this machine
// may be led here by a name of somebody else's: profiles, and all on a loopback address, are refused to other names.
func (p *Page) Answer(r *httpget.Request) httpget.Answer {
	name, profile := strings.CutPrefix(r.Path, "/debug/pprof/")
	switch {
	case (p.inner || profile) && r.Host() != "" && !r.IsFor(p.name):
		return httpget.Text(http.StatusMisdirectedRequest, "this is not "+strconv.Quote(r.Host())+
			": ask by the address, or by localhost")
	case r.Path == "/metrics":
		return httpget.Answer{Status: http.StatusOK, Type: "text/plain; version=0.0.4; charset=utf-8",
			Stream: func(w io.Writer) error { return Write(w, p.sets()...) }}
	case r.Path == "/stats.json" && p.whole:
		return httpget.Answer{Status: http.StatusOK, Type: "application/json",
			Stream: func(w io.Writer) error { return json.NewEncoder(w).Encode(p.all()) }}
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
		return httpget.Text(http.StatusNotFound, "unknown profile "+strconv.Quote(name))
	}
	return httpget.Text(http.StatusNotFound, "unknown path; want /metrics or /debug/pprof/{profile,heap,goroutine,…}")
}

// binary is the content type of a profile for "go tool pprof".
const binary = "application/octet-stream"

func (p *Page) sets() (all []Set) {
	for _, r := range p.played() {
		all = append(all, r.sets()...)
	}
	return all
}

// all returns the roles' full state.
func (p *Page) all() (all []any) {
	for _, r := range p.played() {
		all = append(all, r.stats())
	}
	return all
}

func (p *Page) played() []role {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.roles)
}

func local(addr net.Addr) bool {
	at, is := addr.(*net.TCPAddr)
	return is && at.IP.IsLoopback()
}

// longest is the longest duration of a CPU profile.
const longest = time.Minute

// spend writes a CPU profile of ?seconds=, 10 without it.
func spend(w io.Writer, r *httpget.Request) error {
	seconds, err := strconv.Atoi(r.Query.Get("seconds"))
	if err != nil || seconds <= 0 {
		seconds = 10
	}
	if err := pprof.StartCPUProfile(w); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	defer profiled.Take()()
	t := time.NewTimer(min(time.Duration(seconds)*time.Second, longest))
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Gone():
	}
	return nil
}
