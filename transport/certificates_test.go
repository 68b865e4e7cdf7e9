package transport_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
)

// renewable is a directory as kubelet mounts a Secret: its names point through ..data, which mount changes in one step.
func renewable(t *testing.T) (dir string, mount func(from string)) {
	dir = t.TempDir()
	check := func(err error) {
		t.Helper()
		law.Check(t, err)
	}
	for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
		check(os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
	return dir, func(from string) {
		t.Helper()
		at, err := os.MkdirTemp(dir, "..")
		check(err)
		for there, here := range map[string]string{"ca.pem": "ca.crt", "cert.pem": "tls.crt", "key.pem": "tls.key"} {
			copyFile(t, filepath.Join(from, there), filepath.Join(at, here))
		}
		check(os.Symlink(filepath.Base(at), filepath.Join(dir, "..data_tmp")))
		check(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
}

// TestCertificatesAreReadAgain: when a Secret changes, connections and a request under way go on, new connections are made by the new
// certificates alone, on both sides, and files that don't go together change nothing.
func TestCertificatesAreReadAgain(t *testing.T) {
	var log bytes.Buffer
	before, after := certificates(t), certificates(t)
	dir, mount := renewable(t)
	mount(before)
	server := &transport.FastHTTP{TLSDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	l, err := server.Listen("127.0.0.1:0")
	law.Check(t, err)
	entered, release, served := make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		served <- l.Serve(func(req []byte, reply *transport.Reply) {
			if string(req) == "wait" {
				entered <- struct{}{}
				<-release
			}
			reply.Parts = [][]byte{bytes.Clone(req)}
		})
	}()
	client := &transport.FastHTTP{TLSDir: dir, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	works := func(f *transport.FastHTTP, when string) {
		t.Helper()
		if got, err := ask(f, l.Endpoint(), "x"); err != nil || got != "x" {
			t.Errorf("%s: %q, %v", when, got, err)
		}
	}
	works(client, "at first")
	dials := client.Stats().Dials
	waits := make(chan error, 1)
	go func() {
		_, err := ask(client, l.Endpoint(), "wait")
		waits <- err
	}()
	<-entered
	mount(after)
	works(&transport.FastHTTP{TLSDir: after}, "who has the new ones")
	if _, err := ask(&transport.FastHTTP{TLSDir: before}, l.Endpoint(), "x"); !errors.Is(err, transport.ErrRefused) {
		t.Errorf("who has the old ones: %v, want ErrRefused", err)
	}
	works(client, "beside the request under way")
	if client.Stats().Dials == dials {
		t.Error("the client has not made a connection by the new certificates: the test shows nothing of it")
	}
	close(release)
	if err := <-waits; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	copyFile(t, filepath.Join(before, "key.pem"), filepath.Join(dir, "..data", "tls.key"))
	works(&transport.FastHTTP{TLSDir: after}, "beside a key of another certificate")
	works(&transport.FastHTTP{TLSDir: after}, "and again")
	if n := strings.Count(log.String(), "new certificates can't be used"); n != 1 || strings.Count(log.String(), "were read again") != 1 {
		t.Errorf("the log says, once each or not:\n%s", log.String())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client.CloseIdleConnections()
	if err := errors.Join(l.Close(ctx), <-served); err != nil {
		t.Error(err)
	}
}

// TestCertificatesThatAreAway: where clients may do without certificates, a listener whose files are gone for a moment goes on with what it had.
func TestCertificatesThatAreAway(t *testing.T) {
	var log bytes.Buffer
	files := certificates(t)
	dir, mount := renewable(t)
	mount(files)
	server := &transport.FastHTTP{TLSDir: dir, Token: "a secret of sixteen", Logger: slog.New(slog.NewTextHandler(&log, nil))}
	l, err := server.Listen("127.0.0.1:0")
	law.Check(t, err)
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(req []byte, reply *transport.Reply) { reply.Parts = [][]byte{bytes.Clone(req)} })
	}()
	law.Check(t, errors.Join(os.Remove(filepath.Join(dir, "..data", "tls.key")), os.Remove(filepath.Join(dir, "..data", "tls.crt"))))
	for range 2 {
		client := &transport.FastHTTP{TLSDir: files, Token: server.Token}
		if got, err := ask(client, l.Endpoint(), "x"); err != nil || got != "x" {
			t.Errorf("while the files are away: %q, %v", got, err)
		}
		client.CloseIdleConnections()
	}
	if !strings.Contains(log.String(), "has no certificate and key now") {
		t.Errorf("the log says %s", &log)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := errors.Join(l.Close(ctx), <-served); err != nil {
		t.Error(err)
	}
}
