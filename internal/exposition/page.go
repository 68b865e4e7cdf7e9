package exposition

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"time"
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
	s := &http.Server{Handler: p, ReadTimeout: patience, WriteTimeout: longest + patience, MaxHeaderBytes: 8 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	go func() { _ = s.Serve(l) }() // to the end of the process
	return p, nil
}

// A caller has so long to ask, and a profile takes so long at most.
const patience, longest = 5 * time.Second, time.Minute

// Show shows a role, in the place of what this process played by that name before. What a role has counted is shown
// until the process ends.
func (p *Page) Show(name string, sets func() []Set) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roles = append(slices.DeleteFunc(p.roles, func(o role) bool { return o.name == name }), role{name, sets})
}

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	name, profile := cutPrefix(r.URL.Path)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "it can be read, and nothing else", http.StatusMethodNotAllowed)
	case r.URL.Path == "/metrics":
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = Write(w, p.sets()...) // the caller has gone
	case profile && !local(r.RemoteAddr):
		http.Error(w, "profiles are for callers on the same machine", http.StatusForbidden)
	case profile:
		serveProfile(w, r, name)
	default:
		http.Error(w, "there are /metrics and /debug/pprof/{profile,heap,goroutine,…}", http.StatusNotFound)
	}
}

func (p *Page) sets() (all []Set) {
	p.mu.Lock()
	roles := slices.Clone(p.roles)
	p.mu.Unlock()
	for _, r := range roles {
		all = append(all, r.sets()...)
	}
	return all
}

func cutPrefix(path string) (name string, ok bool) {
	const below = "/debug/pprof/"
	if len(path) <= len(below) || path[:len(below)] != below {
		return "", false
	}
	return path[len(below):], true
}

func local(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}

// serveProfile writes a profile as "go tool pprof" reads it: of the processor for ?seconds=, 10 without it, or what the
// runtime has by that name.
func serveProfile(w http.ResponseWriter, r *http.Request, name string) {
	if name != "profile" {
		known := pprof.Lookup(name)
		if known == nil {
			http.Error(w, "there is no profile "+strconv.Quote(name), http.StatusNotFound)
			return
		}
		debug, _ := strconv.Atoi(r.FormValue("debug"))
		_ = known.WriteTo(w, debug)
		return
	}
	seconds, err := strconv.Atoi(r.FormValue("seconds"))
	if err != nil || seconds <= 0 {
		seconds = 10
	}
	if err := pprof.StartCPUProfile(w); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	defer pprof.StopCPUProfile()
	t := time.NewTimer(min(time.Duration(seconds)*time.Second, longest))
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	}
}
