package transport_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
)

// start serves an echo and returns its endpoint; calls counts the requests that reached the handler.
func start(t testing.TB, tr transport.Transport, endpoint string) (name string, calls *atomic.Int32) {
	t.Helper()
	l, err := tr.Listen(endpoint)
	law.Check(t, err)
	calls = new(atomic.Int32)
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(req []byte, reply *transport.Reply) {
			calls.Add(1)
			reply.Parts = [][]byte{append([]byte(nil), req...)}
		})
	}()
	t.Cleanup(func() {
		if err := errors.Join(l.Close(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	return l.Endpoint(), calls
}

func ask(tr transport.Transport, endpoint, req string) (answer string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err = tr.Call(ctx, endpoint, [][]byte{[]byte(req)}, func(body []byte) error {
		answer = string(body)
		return nil
	})
	return answer, err
}

func wantWaysOut(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, transport.ErrRefused) {
		t.Fatalf("%s: %v, want ErrRefused", what, err)
	}
	for _, way := range []string{"FLEET_TLS_DIR", "FLEET_TOKEN", "FLEET_INSECURE=1"} {
		if !strings.Contains(err.Error(), way) {
			t.Errorf("%s: the refusal does not name %s: %v", what, way, err)
		}
	}
}

// TestPlaintextStaysHere holds the rule on plaintext against every kind of address; 192.0.2.1 belongs to nobody.
//
// Promise: [G12] no plaintext leaves the machine, whatever a name resolves to; a unix socket is its owner's alone;
// proxies of the environment are never used
// Also: TestLocalhostByName, TestSocketFile, TestProxiesAreIgnored
func TestPlaintextStaysHere(t *testing.T) {
	for name, tr := range map[string]*transport.FastHTTP{"bare": {}, "with a token": {Token: "secret"}} {
		for _, endpoint := range []string{":0", "0.0.0.0:0", "[::]:0"} {
			l, err := tr.Listen(endpoint)
			if err == nil {
				_ = l.Close(context.Background())
			}
			wantWaysOut(t, name+", listening on "+endpoint, err)
		}
		_, err := ask(tr, "192.0.2.1:80", "x")
		wantWaysOut(t, name+", calling another machine", err)
		if says := fmt.Sprint(err); !strings.HasPrefix(says, "transport: call 192.0.2.1:80: this process refuses: plaintext may not leave this machine") {
			t.Errorf("%s: %s: want the address once, and who refuses", name, says)
		}
		if errors.Is(err, transport.ErrUnreachable) {
			t.Errorf("%s: a refusal that asks to be repeated: %v", name, err)
		}
	}
}

func TestInsecure(t *testing.T) {
	tr := &transport.FastHTTP{Insecure: true}
	endpoint, _ := start(t, tr, "0.0.0.0:0")
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil || port == "0" {
		t.Fatalf("endpoint %s, %v", endpoint, err)
	}
	if got, err := ask(tr, "127.0.0.1:"+port, "x"); err != nil || got != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLocalhostByName(t *testing.T) {
	tr := &transport.FastHTTP{}
	endpoint, _ := start(t, tr, "localhost:0")
	if !strings.HasPrefix(endpoint, "localhost:") {
		t.Errorf("the endpoint is %s; the host should stay as it was written", endpoint)
	}
	if got, err := ask(tr, endpoint, "x"); err != nil || got != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestStrangers has clients and servers meet that do not trust each other. No request may reach the handler, whatever its
// size, and the error must say that it was a refusal.
//
// Promise: [G12] strangers, wrong tokens, expired certificates and old TLS are refused, and nothing of theirs is
// served
// Also: TestOwnTLS, TestExpired
func TestStrangers(t *testing.T) {
	law.Slow(t)
	ours, theirs := certificates(t), certificates(t)
	clientOnly := t.TempDir()
	copyFile(t, filepath.Join(ours, "ca.pem"), filepath.Join(clientOnly, "ca.pem"))
	mutual := transport.FastHTTP{TLSDir: ours}
	token := transport.FastHTTP{TLSDir: ours, Token: "secret"}
	for _, c := range []struct {
		name           string
		server, client *transport.FastHTTP
		says           string
	}{
		{"another CA", &transport.FastHTTP{TLSDir: ours}, &transport.FastHTTP{TLSDir: theirs}, "certificate"},
		{"no client certificate", &transport.FastHTTP{TLSDir: ours}, &transport.FastHTTP{TLSDir: clientOnly, Token: "x"}, "our certificate"},
		{"client certificate of another CA", &transport.FastHTTP{TLSDir: ours}, mixed(t, ours, theirs), "our certificate"},
		{"wrong token", &transport.FastHTTP{TLSDir: ours, Token: "secret"}, &transport.FastHTTP{TLSDir: ours, Token: "guess"}, "FLEET_TOKEN"},
		{"no token", &transport.FastHTTP{TLSDir: ours, Token: "secret"}, &transport.FastHTTP{TLSDir: ours}, "FLEET_TOKEN"},
		{"wrong token on loopback", &transport.FastHTTP{Token: "secret"}, &transport.FastHTTP{Token: "guess"}, "FLEET_TOKEN"},
		{"plaintext client", &transport.FastHTTP{TLSDir: ours}, &transport.FastHTTP{}, "TLS"},
		{"plaintext server", &transport.FastHTTP{}, &transport.FastHTTP{TLSDir: ours}, "TLS"},
		{"another name", &transport.FastHTTP{TLSDir: ours}, renamed(t, ours, "elsewhere"), "elsewhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.server.Logger = quietLogger()
			endpoint, calls := start(t, c.server, "127.0.0.1:0")
			for _, n := range []int{1, 4 << 20} {
				_, err := ask(c.client, endpoint, strings.Repeat("x", n))
				if !errors.Is(err, transport.ErrRefused) || errors.Is(err, transport.ErrUnreachable) {
					t.Errorf("%d bytes: %v, want ErrRefused", n, err)
				} else if !strings.Contains(err.Error(), c.says) {
					t.Errorf("%d bytes: %v; it should speak of %q", n, err, c.says)
				}
			}
			if calls.Load() > 0 {
				t.Error("a stranger's request was served")
			}
		})
	}
	for name, friend := range map[string]*transport.FastHTTP{"mutual": &mutual, "token": &token} {
		endpoint, _ := start(t, friend, "localhost:0")
		if got, err := ask(friend, endpoint, "x"); err != nil || got != "x" {
			t.Errorf("%s among friends: %q, %v", name, got, err)
		}
	}
	endpoint, _ := start(t, &transport.FastHTTP{TLSDir: ours, Token: "secret"}, "127.0.0.1:0")
	worker := &transport.FastHTTP{TLSDir: clientOnly, Token: "secret"}
	if got, err := ask(worker, endpoint, "x"); err != nil || got != "x" {
		t.Errorf("a worker with ca.pem and the token alone: %q, %v", got, err)
	}
}

// mixed trusts one CA and shows the certificate of another.
func mixed(t *testing.T, trusts, shows string) *transport.FastHTTP {
	dir := t.TempDir()
	copyFile(t, filepath.Join(trusts, "ca.pem"), filepath.Join(dir, "ca.pem"))
	copyFile(t, filepath.Join(shows, "cert.pem"), filepath.Join(dir, "cert.pem"))
	copyFile(t, filepath.Join(shows, "key.pem"), filepath.Join(dir, "key.pem"))
	return &transport.FastHTTP{TLSDir: dir}
}

// renamed expects the server to have another name than the endpoint's.
func renamed(t *testing.T, dir, name string) *transport.FastHTTP {
	config := tlsConfig(t, dir)
	config.ServerName = name
	return &transport.FastHTTP{TLS: config}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	law.Check(t, err)
}

// TestOwnTLS checks what is asked of a configuration of the user's own.
func TestOwnTLS(t *testing.T) {
	dir := certificates(t)
	open := tlsConfig(t, dir)
	open.ClientAuth = tls.NoClientCert
	bare := tlsConfig(t, dir)
	bare.Certificates = nil
	for name, tr := range map[string]*transport.FastHTTP{
		"anybody may call": {TLS: open}, "no certificate": {TLS: bare}, "no certificate in a directory": {TLSDir: caOnly(t, dir), Token: "x"},
	} {
		if _, err := tr.Listen("127.0.0.1:0"); !errors.Is(err, transport.ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
	}
	tr := &transport.FastHTTP{TLS: open, Token: "secret", Logger: quietLogger()}
	endpoint, _ := start(t, tr, "127.0.0.1:0")
	if got, err := ask(tr, endpoint, "x"); err != nil || got != "x" {
		t.Errorf("with a token: %q, %v", got, err)
	}
	old, err := tls.Dial("tcp", endpoint, &tls.Config{RootCAs: open.RootCAs, MaxVersion: tls.VersionTLS12})
	if err == nil {
		_ = old.Close()
		t.Error("TLS 1.2 was accepted")
	}
}

func caOnly(t *testing.T, dir string) string {
	alone := t.TempDir()
	copyFile(t, filepath.Join(dir, "ca.pem"), filepath.Join(alone, "ca.pem"))
	return alone
}

func TestExpired(t *testing.T) {
	ca, err := transport.NewCA(-time.Minute)
	law.Check(t, err)
	dir := t.TempDir()
	law.Check(t, ca.WriteDir(dir, "10.0.0.7", "trainer.example"))
	var log lines
	tr := &transport.FastHTTP{TLSDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	endpoint, calls := start(t, tr, "127.0.0.1:0")
	if log.count("level=WARN", "own certificate is not valid", endpoint) != 1 {
		t.Errorf("a server whose certificate has expired starts without a word: %s", log.log.String())
	}
	if _, err := ask(tr, endpoint, "x"); !errors.Is(err, transport.ErrRefused) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("%v, want ErrRefused and the word expired", err)
	}
	if calls.Load() > 0 {
		t.Error("served")
	}
}

func TestWriteDir(t *testing.T) {
	ca, err := transport.NewCA(time.Hour)
	law.Check(t, err)
	dir := filepath.Join(t.TempDir(), "new", "dir")
	law.Check(t, ca.WriteDir(dir, "10.0.0.7", "trainer.example"))
	leaf := tlsConfig(t, dir).Certificates[0].Leaf
	for _, host := range []string{"10.0.0.7", "trainer.example", "localhost", "127.0.0.1", "::1"} {
		if err := leaf.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	if err := leaf.VerifyHostname("10.0.0.8"); err == nil {
		t.Error("it names a host that was not asked for")
	}
	if info, err := os.Stat(filepath.Join(dir, "key.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key.pem: %v, %v; want mode 600", info.Mode(), err)
	}
}

// Promise: [G12] the environment configures security, in the same way for every process
// Also: TestInsecure
func TestFromEnv(t *testing.T) {
	dir := certificates(t)
	for _, c := range []struct {
		name                 string
		dir, token, insecure string
		wrong                string
	}{
		{name: "nothing"},
		{name: "all", dir: dir, token: "secret", insecure: "1"},
		{name: "off", insecure: "0"},
		{name: "neither", insecure: "maybe", wrong: "FLEET_INSECURE"},
		{name: "no such directory", dir: "/no/such/dir", wrong: "/no/such/dir"},
		{name: "a directory without certificates", dir: t.TempDir(), wrong: "ca.pem"},
		{name: "a CA alone, and no token", dir: caOnly(t, dir), wrong: "cert.pem"},
		{name: "a CA alone, and a token", dir: caOnly(t, dir), token: "secret"},
	} {
		t.Setenv("FLEET_TLS_DIR", c.dir)
		t.Setenv("FLEET_TOKEN", c.token)
		t.Setenv("FLEET_INSECURE", c.insecure)
		t.Setenv("FLEET_LISTEN", "[::1]:7")
		f, err := transport.FromEnv()
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v; it should name %s", c.name, err, c.wrong)
			}
			continue
		}
		if err != nil || f.TLSDir != c.dir || f.Token != c.token || f.Insecure != (c.insecure == "1") || f.ListenAddr != "[::1]:7" {
			t.Errorf("%s: %+v, %v", c.name, f, err)
		}
	}
}

// TestTokenWithALineBreak: the end of the line that a token was read from is no part of it, and another line break is named.
func TestTokenWithALineBreak(t *testing.T) {
	t.Setenv("FLEET_TOKEN", "secret\r\n")
	f, err := transport.FromEnv()
	law.Check(t, err)
	endpoint, _ := start(t, f, "127.0.0.1:0")
	if got, err := ask(&transport.FastHTTP{Token: "secret"}, endpoint, "x"); err != nil || got != "x" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("FLEET_TOKEN", "sec\nret")
	if _, err := transport.FromEnv(); !errors.Is(err, transport.ErrRefused) || !strings.Contains(err.Error(), "line break") {
		t.Errorf("%v, want ErrRefused", err)
	}
	_, err = (&transport.FastHTTP{Token: "secret\n"}).Listen("127.0.0.1:0")
	_, called := ask(&transport.FastHTTP{Token: "secret\n"}, endpoint, "x")
	for _, err := range []error{err, called} {
		if !errors.Is(err, transport.ErrRefused) || !strings.Contains(err.Error(), "line break") {
			t.Errorf("%v, want ErrRefused", err)
		}
	}
}

// TestTokenInPlaintext: a token that leaves the machine unencrypted is allowed where Insecure says so, with a warning.
func TestTokenInPlaintext(t *testing.T) {
	var log lines
	logger := slog.New(slog.NewTextHandler(&log, nil))
	start(t, &transport.FastHTTP{Token: "secret", Logger: logger}, "127.0.0.1:0")
	start(t, &transport.FastHTTP{Insecure: true, Logger: logger}, "0.0.0.0:0")
	if log.log.Len() > 0 {
		t.Errorf("a warning without a reason: %s", log.log.String())
	}
	start(t, &transport.FastHTTP{Token: "secret", Insecure: true, Logger: logger}, "0.0.0.0:0")
	if log.count("level=WARN", "token travels in plaintext") != 1 || log.count("secret") > 0 {
		t.Errorf("the log is %s", log.log.String())
	}
}

// TestSocketFile checks that a unix socket is its owner's alone, that one left by a dead process is replaced, and that one in
// use, or a file that is no socket, is not.
func TestSocketFile(t *testing.T) {
	path := strings.TrimPrefix(socketNames(t)(), "unix:")
	tr := &transport.FastHTTP{}
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	law.Check(t, err)
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	endpoint, _ := start(t, tr, "unix:"+path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 600", info.Mode(), err)
	}
	if got, err := ask(tr, endpoint, "x"); err != nil || got != "x" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := tr.Listen("unix:" + path); err == nil {
		t.Error("a socket in use was taken over")
	}
	file := filepath.Join(t.TempDir(), "file")
	law.Check(t, os.WriteFile(file, []byte("keep"), 0o600))
	if _, err := tr.Listen("unix:" + file); err == nil {
		t.Error("a file was replaced by a socket")
	}
}

func TestWrongEndpoints(t *testing.T) {
	tr := &transport.FastHTTP{}
	for _, endpoint := range []string{"", "nohost", "unix:", "1.2.3.4", "http://127.0.0.1:80/"} {
		if _, err := tr.Listen(endpoint); err == nil || !strings.Contains(err.Error(), "endpoint") {
			t.Errorf("listening on %q: %v", endpoint, err)
		}
		if _, err := ask(tr, endpoint, "x"); !errors.Is(err, transport.ErrUnreachable) {
			t.Errorf("calling %q: %v, want ErrUnreachable", endpoint, err)
		}
	}
	if _, err := ask(tr, "no-such-host.invalid:1", "x"); !errors.Is(err, transport.ErrUnreachable) {
		t.Errorf("calling a host that does not exist: %v, want ErrUnreachable", err)
	}
}
