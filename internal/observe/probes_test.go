package observe

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestAnswers: a process lives as long as its loops move, has begun when all its roles have, and is ready when none of them waits.
func TestAnswers(t *testing.T) {
	begins, serves := Health{Waits: "it loads"}, Health{Began: true}
	drains, stuck := Health{Began: true, Waits: "it ends"}, Health{Began: true, Stuck: "no beat"}
	for name, c := range map[string]struct {
		roles                 []Health
		livez, startupz, read string
	}{
		"no role":      {nil, "ok", "it has no part in a job now", "it has no part in a job now"},
		"begins":       {[]Health{begins}, "ok", "it loads", "it loads"},
		"serves":       {[]Health{serves}, "ok", "ok", "ok"},
		"drains":       {[]Health{drains}, "ok", "ok", "it ends"},
		"stuck":        {[]Health{stuck}, "no beat", "ok", "no beat"},
		"one of two":   {[]Health{serves, begins}, "ok", "it loads", "it loads"},
		"one is stuck": {[]Health{serves, stuck}, "no beat", "ok", "no beat"},
	} {
		var b Board
		for i, s := range c.roles {
			b.Add(fmt.Sprint(i), func() Health { return s })
		}
		for path, want := range map[string]string{"/livez": c.livez, "/startupz": c.startupz, "/readyz": c.read} {
			status, text := b.Answer(path)
			if text != want || (status == http.StatusOK) != (want == "ok") {
				t.Errorf("%s %s: %d %q, want %q", name, path, status, text, want)
			}
		}
	}
}

// TestRolesComeAndGo: a role that joins anew takes the place of what it was before, whose leaving changes nothing then.
func TestRolesComeAndGo(t *testing.T) {
	var b Board
	before := b.Add("worker 0", func() Health { return Health{Waits: "before"} })
	now := b.Add("worker 0", func() Health { return Health{Began: true} })
	if before(); len(b.roles.all) != 1 {
		t.Errorf("%d roles", len(b.roles.all))
	}
	if status, text := b.Answer("/readyz"); status != http.StatusOK {
		t.Error(status, text)
	}
	if now(); len(b.roles.all) != 0 {
		t.Errorf("%d roles are left", len(b.roles.all))
	}
}

// TestNothingButProbes: requests for anything else are refused.
func TestNothingButProbes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	law.Check(t, err)
	var b Board
	b.Add("server 0", func() Health { return Health{Began: true} })
	served := make(chan error)
	go func() { served <- ServeProbes(l, &b) }()
	defer func() { l.Close(); <-served }()
	say := func(text string) string {
		c, err := net.Dial("tcp", l.Addr().String())
		law.Check(t, err)
		defer c.Close()
		_, _ = io.WriteString(c, text)
		answer, _ := io.ReadAll(bufio.NewReader(c))
		return string(answer)
	}
	for asked, want := range map[string]string{
		"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n":            "HTTP/1.1 200 OK\r\n",
		"GET /livez?verbose HTTP/1.0\r\n\r\n":                "HTTP/1.1 200 OK\r\n",
		"HEAD /startupz HTTP/1.1\r\n\r\n":                    "HTTP/1.1 200 OK\r\n",
		"GET / HTTP/1.1\r\n\r\n":                             "HTTP/1.1 404 Not Found\r\n",
		"GET /metrics HTTP/1.1\r\n\r\n":                      "HTTP/1.1 404 Not Found\r\n",
		"POST /readyz HTTP/1.1\r\nContent-Length: 9\r\n\r\n": "HTTP/1.1 405 Method Not Allowed\r\n",
		"\x16\x03\x01 a handshake\n\n":                       "HTTP/1.1 405 Method Not Allowed\r\n",
	} {
		got := say(asked)
		if !strings.HasPrefix(got, want) {
			t.Errorf("%.40q: %q, want %q", asked, got, want)
		}
		if head := strings.HasPrefix(asked, "HEAD"); strings.HasSuffix(got, "\r\n\r\n") != head {
			t.Errorf("%.40q: %q, want a body unless it is HEAD", asked, got)
		}
	}
}
