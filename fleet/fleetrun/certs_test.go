package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/transport"
)

// TestCerts: a directory that the command made lets two processes talk by TLS, is for the hosts that were named, for as long as was
// said, and is never replaced.
//
// Promise: [G12] one command makes the certificates
// Also: TestCertsRefused
func TestCerts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tls")
	con, said := consoleOn(t, false)
	args := []string{"certs", "--days=3", dir, "10.89.176.11", "node0"}
	if code := run(args, con); code != 0 {
		t.Fatalf("exit code %d: %s", code, said())
	}
	if !strings.Contains(said(), "10.89.176.11, node0 and loopback, for 3 days") {
		t.Errorf("it says %q", said())
	}
	checkTalk(t, &transport.FastHTTP{TLSDir: dir})
	checkCert(t, filepath.Join(dir, "cert.pem"), 3*24*time.Hour)
	before, err := os.ReadFile(filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if code := run(args, con); code != exitFailure || !strings.Contains(said(), "ca.pem is there already") {
		t.Errorf("exit code %d the second time, and %q", code, said())
	}
	if after, err := os.ReadFile(filepath.Join(dir, "key.pem")); err != nil || string(after) != string(before) {
		t.Errorf("the key was replaced (%v)", err)
	}
}

// checkTalk has a server and a worker of this machine exchange a message.
func checkTalk(t *testing.T, f *transport.FastHTTP) {
	t.Helper()
	l, err := f.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		l.Serve(func(req []byte, reply *transport.Reply) { reply.Parts = [][]byte{[]byte("seen")} })
	}()
	err = f.Call(t.Context(), l.Endpoint(), [][]byte{[]byte("hello")}, func(body []byte) error {
		if string(body) != "seen" {
			t.Errorf("the answer is %q", body)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	f.CloseIdleConnections()
	if err := l.Close(context.Background()); err != nil {
		t.Error(err)
	}
	<-served
}

func checkCert(t *testing.T, file string, lifetime time.Duration) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"10.89.176.11": true, "node0": true, "localhost": true, "10.89.176.12": false} {
		if err := cert.VerifyHostname(host); (err == nil) != want {
			t.Errorf("%s: %v", host, err)
		}
	}
	if left := time.Until(cert.NotAfter); left > lifetime || left < lifetime-time.Hour {
		t.Errorf("it is valid for %v, want %v", left, lifetime)
	}
}

func TestCertsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for args, want := range map[string]string{
		"certs":                              "name a directory, and the hosts",
		"certs " + dir:                       "name a directory, and the hosts",
		"certs --days=0 " + dir + " h":       "--days=0",
		"certs --day=1 " + dir + " h":        "day",
		"certs " + dir + " 10.0.0.1:36000":   `host "10.0.0.1:36000"`,
		"certs " + dir + " [::1]":            `host "[::1]"`,
		"certs " + dir + " not_a_host!":      `host "not_a_host!": no host has '!' in its name`,
		"certs " + dir + " näme":             `host "näme": no host has 'ä'`,
		"certs " + dir + " 0.0.0.0":          "no machine can call that address",
		"certs s3://bucket/tls 10.89.176.11": "s3://",
	} {
		con, said := consoleOn(t, false)
		if code := run(strings.Fields(args), con); code == 0 || !strings.Contains(said(), want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, said(), want)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("what was refused left %v, %v", left, err)
	}
}
