package ui

import (
	"crypto/rand"
	"net"
	"sync"

	"github.com/gofleet/gofleet/internal/httpget"
)

// pages has a page for each address at which this process listens, until the process ends.
var pages struct {
	sync.Mutex
	at map[string]*Page
}

// Open returns the page of an address. The first call with an address listens there and shows the source until Show
// is given another; url is then the page's address for a browser, and empty in later calls. If token is empty, the
// page has a random one, which is part of url.
func Open(addr, token string, first Source) (p *Page, url string, err error) {
	pages.Lock()
	defer pages.Unlock()
	if is := pages.at[addr]; is != nil {
		return is, "", nil
	}
	l, err := Listen(addr)
	if err != nil {
		return nil, "", err
	}
	url = "http://" + Near(l.Addr().String()) + "/"
	if token == "" {
		token = rand.Text()
		url += "?token=" + token
	}
	if pages.at == nil {
		pages.at = map[string]*Page{}
	}
	p = New(addr, token, l, first)
	pages.at[addr] = p
	go func() { _ = httpget.Serve(l, p.Answer) }() // to the end of the process
	return p, url, nil
}

// Near returns the form of a listening address that callers on the same machine can use: the loopback address if it
// listens on all interfaces. It is empty if addr has no port.
func Near(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
