package ui

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/gofleet/gofleet/internal/httpget"
)

// door lets in who has the token: by ?token= once, which becomes a cookie, or as a bearer's. Who calls this process by
// another name than its address is not let in: a page of another site may have that name lead here.
type door struct {
	token string
	name  string // of the address, beside IP addresses and localhost
	port  string
}

// policy has a browser load nothing but this page's own files, and show it in no other page.
const policy = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// admit answers who may not look, or is led on; nil lets the request in.
func (d *door) admit(r *httpget.Request) *httpget.Answer {
	if !d.knows(r.Host()) {
		a := httpget.Text(http.StatusMisdirectedRequest, "this page is called by its address, or localhost")
		return &a
	}
	if given := r.Query.Get("token"); r.Path == "/" && d.opens(given) {
		cookie := d.cookie() + "=" + url.QueryEscape(given) + "; Path=/; HttpOnly; SameSite=Strict"
		return &httpget.Answer{Status: http.StatusSeeOther,
			Header: []string{"Location: /", "Referrer-Policy: no-referrer", "Set-Cookie: " + cookie}}
	}
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if d.opens(bearer) || d.opens(d.kept(r.Header)) {
		return nil
	}
	a := httpget.Text(http.StatusUnauthorized, "this page has a token: open the address that was printed, …/?token=…")
	return &a
}

// opens compares in a time that does not tell how much of a guess is right.
func (d *door) opens(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(d.token))
	return given != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// cookie has the port in its name: cookies are of all ports of a host.
func (d *door) cookie() string { return "gofleet_ui_" + d.port }

func (d *door) kept(h textproto.MIMEHeader) string {
	for part := range strings.SplitSeq(h.Get("Cookie"), ";") {
		if name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name == d.cookie() {
			value, _ = url.QueryUnescape(value) // what can't be read opens nothing
			return value
		}
	}
	return ""
}

// knows says whether a Host header can be this page's: an IP address, which no name server gives, localhost, or the
// name of its own address.
func (d *door) knows(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	own := name != "" && strings.EqualFold(name, d.name)
	return own || strings.EqualFold(name, "localhost") || net.ParseIP(name) != nil
}
