package transport_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/transport"
)

// TestListenElsewhere: a listener binds where ListenAddr says and stays what others call it.
func TestListenElsewhere(t *testing.T) {
	socket := socketNames(t)()
	for _, c := range []struct{ endpoint, listen, call, named string }{
		{"service.invalid:36000", socket, socket, "service.invalid:36000"},
		{"service.invalid:36000", "127.0.0.1:0", "", "service.invalid:36000"},
		{"service.invalid:0", "127.0.0.1", "127.0.0.1:PORT", "service.invalid:PORT"},
		{"service.invalid:0", "127.0.0.1:", "127.0.0.1:PORT", "service.invalid:PORT"},
		{"service.invalid:0", "[127.0.0.1]:0", "127.0.0.1:PORT", "service.invalid:PORT"},
	} {
		f := &transport.FastHTTP{ListenAddr: c.listen}
		l, err := f.Listen(c.endpoint)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		served := make(chan error, 1)
		go func() { served <- l.Serve(func([]byte, *transport.Reply) {}) }()
		_, port, _ := net.SplitHostPort(l.Endpoint())
		if named := strings.Replace(c.named, "PORT", port, 1); l.Endpoint() != named || port == "0" {
			t.Errorf("%+v: it is called %s, want %s", c, l.Endpoint(), named)
		}
		if c.call != "" {
			if _, err := ask(f, strings.Replace(c.call, "PORT", port, 1), "x"); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
		if err := errors.Join(l.Close(t.Context()), <-served); err != nil {
			t.Error(err)
		}
	}
	for _, wrong := range []string{"a:b:c", "127.0.0.1:99999", "unix:"} {
		if _, err := (&transport.FastHTTP{ListenAddr: wrong}).Listen("127.0.0.1:0"); err == nil {
			t.Errorf("ListenAddr %q was taken", wrong)
		}
	}
}

// TestListenFails: what a system says of an address is followed by what to do, and names the address once.
func TestListenFails(t *testing.T) {
	f := &transport.FastHTTP{Insecure: true}
	l, err := f.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(context.Background())
	for endpoint, want := range map[string]string{
		l.Endpoint():  "another job, or a process that an earlier one left, has the port: end it, or choose another port",
		"192.0.2.1:1": "no network interface of this machine has it: if others reach this process by that address all the same (a service, NAT, a published port), FLEET_LISTEN",
	} {
		_, err := f.Listen(endpoint)
		if err == nil || runtime.GOOS != "windows" && !strings.Contains(err.Error(), want) || strings.Count(err.Error(), endpoint) != 1 {
			t.Errorf("%s: error %v, want %q, and the address once", endpoint, err, want)
		}
	}
}
