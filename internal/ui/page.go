package ui

import (
	"context"
	_ "embed"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/observe"
)

//go:embed page.html
var html []byte

//go:embed page.css
var css []byte

//go:embed page.js
var js []byte

// Page shows a job in browsers that have its token.
type Page struct {
	door   door
	source Source

	mu     sync.Mutex
	before *Job // the look before the last
	last   *Job
	made   []byte // the JSON of the last look
	saved  saved
}

// fresh is how long a look is used for all requests, and longest is its time limit.
const (
	fresh   = 500 * time.Millisecond
	longest = 4 * time.Second
)

// New makes a page at an address; token is its secret.
func New(addr, token string, l net.Listener, source Source) *Page {
	name, _, _ := net.SplitHostPort(addr)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return &Page{door: door{token: token, name: name, port: port}, source: source}
}

// Answer answers a request.
func (p *Page) Answer(r *observe.Request) observe.Answer {
	if r.Path == "/favicon.ico" { // browsers ask for it
		return observe.Answer{Status: http.StatusNoContent}
	}
	if refused := p.door.admit(r); refused != nil {
		return *refused
	}
	of := func(kind string, body []byte) observe.Answer {
		return observe.Answer{Status: http.StatusOK, Type: kind, Body: body,
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
	return observe.Text(http.StatusNotFound, "unknown path; want /, or /job.json for programs")
}

// look returns the state of the job, now or a moment ago.
func (p *Page) look() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil && time.Since(p.last.At) < fresh {
		return p.made
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	now := p.source(ctx)
	now.At = time.Now()
	p.before, p.last = earlier(p.before, p.last, &now), &now
	p.saved.look(&now)
	made, err := json.Marshal(viewOf(p.before, p.last))
	if err != nil { // a number that JSON can't represent
		made, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	p.made = made
	return made
}
