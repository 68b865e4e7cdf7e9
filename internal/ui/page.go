package ui

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/httpget"
)

//go:embed page.html
var html []byte

//go:embed page.css
var css []byte

//go:embed page.js
var js []byte

// Page shows a job to who has its token.
type Page struct {
	door   door
	source atomic.Pointer[Source]

	mu     sync.Mutex
	before *Job // a look before the last
	last   *Job
	made   []byte // what a browser is sent of it
	saved  saved
}

// fresh is for how long a look serves all who ask, and longest how long it may take.
const (
	fresh   = 500 * time.Millisecond
	longest = 4 * time.Second
)

// Listen is the page's listener. An address without a host is loopback's.
func Listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: want an address such as :8900 or 0.0.0.0:8900", err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.Listen("tcp", net.JoinHostPort(host, port))
}

// New is a page at an address, of which token is the secret.
func New(addr, token string, l net.Listener, source Source) *Page {
	name, _, _ := net.SplitHostPort(addr)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	p := &Page{door: door{token: token, name: name, port: port}}
	p.Show(source)
	return p
}

// Show has the page show another job.
func (p *Page) Show(source Source) { p.source.Store(&source) }

// Answer answers a request.
func (p *Page) Answer(r *httpget.Request) httpget.Answer {
	if r.Path == "/favicon.ico" { // which browsers ask for
		return httpget.Answer{Status: http.StatusNoContent}
	}
	if refused := p.door.admit(r); refused != nil {
		return *refused
	}
	of := func(kind string, body []byte) httpget.Answer {
		return httpget.Answer{Status: http.StatusOK, Type: kind, Body: body,
			Header: []string{policy, "Referrer-Policy: no-referrer", "Cross-Origin-Resource-Policy: same-origin"}}
	}
	switch r.Path {
	case "/":
		return of("text/html; charset=utf-8", html)
	case "/page.css":
		return of("text/css; charset=utf-8", css)
	case "/page.js":
		return of("text/javascript; charset=utf-8", js)
	case "/job.json":
		return of("application/json", p.look())
	}
	return httpget.Text(http.StatusNotFound, "there are /, and /job.json for programs")
}

// look is the job as of now, or of a moment ago.
func (p *Page) look() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil && time.Since(p.last.At) < fresh {
		return p.made
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	now := (*p.source.Load())(ctx)
	now.At = time.Now()
	p.before, p.last = earlier(p.before, p.last, &now), &now
	p.saved.look(&now)
	made, err := json.Marshal(viewOf(p.before, p.last))
	if err != nil { // of a number that JSON has not
		made, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	p.made = made
	return made
}
