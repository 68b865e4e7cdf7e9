package ui

import (
	"crypto/rand"
	"net"
	"sync"

	"github.com/gofleet/gofleet/internal/httpget"
)

// pages has a page for each address at which this process listens, as long as it lasts.
var pages struct {
	sync.Mutex
	at map[string]*Page
}

// Open is the page of an address, where this process listens from the first call on, and which shows a source until
// another is given to Show. url is where a browser finds it, empty unless it is new. An empty token is another at each
// start, and part of the url.
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

// Near is an address that callers on the same machine can use: where something listens at all addresses, or at none
// that is named, the machine's for itself. What is no address with a port is empty.
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
