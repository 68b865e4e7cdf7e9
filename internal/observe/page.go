package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/count"
)

// Page shows the counters and the status of this process's roles.
type Page struct {
	token string // of the status
	// name is the host in the page's address, and inner says that only this machine reaches it.
	name  string
	inner bool
	roles roles[Role]
}

var pages places[*Page]

// Open returns the page of an address, whose status is told to callers with the token, or without a token to those on
// the same machine. The first call for an address listens there, and returns an error if it can't.
func Open(addr, token string, log *slog.Logger) (*Page, error) {
	return pages.open(addr, func() (*Page, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, fmt.Errorf("%w: want an address such as :9100 or 0.0.0.0:9100", err)
		}
		l, err := Listen(addr)
		if err != nil {
			return nil, fmt.Errorf("%w: want an address for this process alone, such as :9100", err)
		}
		p := &Page{token: token, name: host, inner: local(l.Addr())}
		log.Info("metrics are shown", "at", "http://"+l.Addr().String()+"/metrics")
		go func() { _ = Serve(l, p.Answer) }() // until the process ends
		return p, nil
	})
}

// Listen makes the listener of a page. An address without a host means the loopback address.
func Listen(addr string) (net.Listener, error) {
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	return net.Listen("tcp", addr)
}

// Show adds a role, in place of an earlier one of the same name. The page shows a role until the process ends.
func (p *Page) Show(name string, role func() Role) { p.roles.add(name, role) }

// Answer answers a request: counters to all callers, the status to those with its token, profiles to callers on the
// same machine. A browser on this machine may be led here by a name of somebody else's: all but counters, and all on a
// loopback address, are refused to other names.
func (p *Page) Answer(r *Request) Answer {
	name, profile := strings.CutPrefix(r.Path, "/debug/pprof/")
	switch {
	case (p.inner || r.Path != "/metrics") && r.Host() != "" && !r.IsFor(p.name):
		return Text(http.StatusMisdirectedRequest, "this is not "+strconv.Quote(r.Host())+
			": ask by the address, or by localhost")
	case r.Path == "/metrics":
		return made(prometheus, func(w io.Writer) error { return Write(w, p.roles.now()...) })
	case r.Path == "/status" && p.token != "" && !r.Bears(p.token):
		return Text(http.StatusUnauthorized, "the status has a token: give all roles, and fleetrun watch, the same "+
			"FLEET_UI_TOKEN")
	case r.Path == "/status" && p.token == "" && !local(r.Remote):
		return Text(http.StatusForbidden, "without FLEET_UI_TOKEN the status is for callers on the same machine")
	case r.Path == "/status":
		return made("application/json", func(w io.Writer) error { return json.NewEncoder(w).Encode(p.status()) })
	case profile && name != "" && !local(r.Remote):
		return Text(http.StatusForbidden, "profiles are for callers on the same machine")
	case profile && name == "profile":
		return made(binary, func(w io.Writer) error { return spend(w, r) })
	case profile && pprof.Lookup(name) != nil:
		debug, _ := strconv.Atoi(r.Query.Get("debug"))
		return made(map[bool]string{true: binary}[debug == 0],
			func(w io.Writer) error { return pprof.Lookup(name).WriteTo(w, debug) })
	case profile && name != "":
		return Text(http.StatusNotFound, "unknown profile "+strconv.Quote(name))
	}
	return Text(http.StatusNotFound, "unknown path; want /metrics, /status or /debug/pprof/{profile,heap,goroutine,…}")
}

// prometheus is the content type of counters, binary that of a profile for "go tool pprof".
const prometheus, binary = "text/plain; version=0.0.4; charset=utf-8", "application/octet-stream"

// made is the answer that write makes. An error is the answer too, such as of a second CPU profile at a time.
func made(kind string, write func(io.Writer) error) Answer {
	var body bytes.Buffer
	if err := write(&body); err != nil {
		return Text(http.StatusConflict, err.Error())
	}
	return Answer{Status: http.StatusOK, Type: kind, Body: body.Bytes()}
}

func (p *Page) status() Status {
	return Status{Now: time.Now(), Program: filepath.Base(os.Args[0]), Roles: p.roles.now()}
}

func local(addr net.Addr) bool {
	at, is := addr.(*net.TCPAddr)
	return is && at.IP.IsLoopback()
}

// longestProfile is the longest duration of a CPU profile.
const longestProfile = time.Minute

// spend writes a CPU profile of ?seconds=, 10 without it.
func spend(w io.Writer, r *Request) error {
	seconds, err := strconv.Atoi(r.Query.Get("seconds"))
	if err != nil || seconds <= 0 {
		seconds = 10
	}
	if err := pprof.StartCPUProfile(w); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	defer count.TakeProfile()()
	t := time.NewTimer(min(time.Duration(seconds)*time.Second, longestProfile))
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Gone():
	}
	return nil
}
