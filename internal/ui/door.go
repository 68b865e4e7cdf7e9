package ui

import (
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/gofleet/gofleet/internal/observe"
)

// door admits requests with the token: by ?token= once, which becomes a cookie, or as a bearer token. It refuses
// requests for another host name than the page's address: a page of another site may have made that name lead here.
type door struct {
	token string
	name  string // the host name in the address, besides IP addresses and localhost
	port  string
}

// policy makes a browser load nothing but this page's own files, and show it in no other page.
const policy = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// admit answers a request without access, or redirects one with a token; nil admits the request.
func (d *door) admit(r *observe.Request) *observe.Answer {
	if !r.IsFor(d.name) {
		a := observe.Text(http.StatusMisdirectedRequest, "this page is called by its address, or localhost")
		return &a
	}
	if given := r.Query.Get("token"); r.Path == "/" && observe.Same(given, d.token) {
		cookie := d.cookie() + "=" + url.QueryEscape(given) + "; Path=/; HttpOnly; SameSite=Strict"
		return &observe.Answer{Status: http.StatusSeeOther,
			Header: []string{"Location: /", "Referrer-Policy: no-referrer", "Set-Cookie: " + cookie}}
	}
	if r.Bears(d.token) || observe.Same(d.kept(r.Header), d.token) {
		return nil
	}
	a := observe.Text(http.StatusUnauthorized, "this page has a token: open the address that was printed, …/?token=…")
	return &a
}

// cookie has the port in its name, since cookies are shared by all ports of a host.
func (d *door) cookie() string { return "gofleet_ui_" + d.port }

func (d *door) kept(h textproto.MIMEHeader) string {
	for part := range strings.SplitSeq(h.Get("Cookie"), ";") {
		if name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name == d.cookie() {
			value, _ = url.QueryUnescape(value) // a value that can't be decoded opens nothing
			return value
		}
	}
	return ""
}
