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

// Page shows the roles that this process plays.
type Page struct {
	whole bool // roles show all that they know
	mu    sync.Mutex
	roles []role
}

type role struct {
	name  string
	sets  func() []Set
	stats func() any
}

// pages has a page for each address at which this process listens, as long as it lasts.
var pages struct {
	sync.Mutex
	at map[string]*Page
}

// Open is the page of an address, where this process listens from the first call on.
func Open(addr string, log *slog.Logger) (*Page, error) {
	return open(addr, new(Page), func() (net.Listener, error) {
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
		log.Info("metrics are shown", "at", "http://"+l.Addr().String()+"/metrics")
		return l, nil
	})
}

// OpenWhole is the page of a unix socket, which shows all that roles know of themselves too. A socket of that name is a
// process's before this one.
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
	go func() { _ = httpget.Serve(l, p.Answer) }() // to the end of the process
	return p, nil
}

// Show shows a role, in the place of what this process played by that name before: samples, and where the page is whole
// all that it knows, which JSON can say. What a role has counted is shown until the process ends.
func (p *Page) Show(name string, sets func() []Set, stats func() any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roles = append(slices.DeleteFunc(p.roles, func(o role) bool { return o.name == name }), role{name, sets, stats})
}

// Answer answers a request: the counts to all, profiles to callers on the same machine.
func (p *Page) Answer(r *httpget.Request) httpget.Answer {
	name, profile := strings.CutPrefix(r.Path, "/debug/pprof/")
	switch {
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
		return httpget.Text(http.StatusNotFound, "there is no profile "+strconv.Quote(name))
	}
	return httpget.Text(http.StatusNotFound, "there are /metrics and /debug/pprof/{profile,heap,goroutine,…}")
}

// binary is the type of what "go tool pprof" reads.
const binary = "application/octet-stream"

func (p *Page) sets() (all []Set) {
	for _, r := range p.played() {
		all = append(all, r.sets()...)
	}
	return all
}

// all is what the roles know.
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
	defer profiled.Take()()
	t := time.NewTimer(min(time.Duration(seconds)*time.Second, longest))
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Gone():
	}
	return nil
}
