package transport_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/codec"
	"github.com/gofleet/gofleet/transport/transporttest"
)

const testBound = 9 << 20

// TestExam has every transport of the house sit the exam, bare and compressed.
//
// Promise: [G3] transports keep one contract
func TestExam(t *testing.T) {
	law.Slow(t)
	sockets := socketNames(t)
	loopback := func() string { return "127.0.0.1:0" }
	dir := certificates(t)
	bare := map[string]struct {
		build    func() transport.Transport
		endpoint func() string
	}{
		"memory": {func() transport.Transport { return &transport.Memory{MaxMessage: testBound} }, func() string { return "server:0" }},
		"tcp":    {func() transport.Transport { return &transport.FastHTTP{MaxMessage: testBound} }, loopback},
		"ipv6":   {func() transport.Transport { return &transport.FastHTTP{MaxMessage: testBound} }, func() string { return "[::1]:0" }},
		"unix":   {func() transport.Transport { return &transport.FastHTTP{MaxMessage: testBound} }, sockets},
		"tls":    {func() transport.Transport { return &transport.FastHTTP{MaxMessage: testBound, TLSDir: dir} }, loopback},
		"token": {func() transport.Transport {
			return &transport.FastHTTP{MaxMessage: testBound, TLSDir: dir, Token: "secret"}
		}, loopback},
	}
	if runtime.GOOS != "windows" { // where links want a right of their own
		secret := mounted(t, dir)
		b := bare["tls"]
		b.build = func() transport.Transport { return &transport.FastHTTP{MaxMessage: testBound, TLSDir: secret} }
		bare["secret"] = b
	}
	for name, b := range bare {
		if name == "ipv6" && !hasIPv6() {
			continue
		}
		t.Run(name, func(t *testing.T) { transporttest.Run(t, b.build, b.endpoint) })
	}
	for _, name := range law.Some(t, codec.Names()) {
		for _, under := range []string{"memory", "tcp"} {
			t.Run(under+"/"+name, func(t *testing.T) {
				transporttest.Run(t, func() transport.Transport {
					return transport.Compressed(bare[under].build(), byName(t, name), 0)
				}, bare[under].endpoint)
			})
		}
	}
	t.Run("faultless", func(t *testing.T) {
		transporttest.Run(t, func() transport.Transport {
			return transporttest.NewFaulty(bare["memory"].build(), 1, transporttest.Faults{})
		}, bare["memory"].endpoint)
	})
}

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		_ = l.Close()
	}
	return err == nil
}

func byName(t testing.TB, name string) codec.Codec {
	t.Helper()
	c, err := codec.ByName(name)
	law.Check(t, err)
	return c
}

// certificates is a TLS directory that ends with the test.
func certificates(t testing.TB) string {
	t.Helper()
	ca, err := transport.NewCA(time.Hour)
	law.Check(t, err)
	dir := filepath.Join(t.TempDir(), "tls")
	law.Check(t, ca.WriteDir(dir))
	return dir
}

// mounted is a directory of certificates as kubelet mounts a Secret: links to a directory that is replaced as a whole.
func mounted(t testing.TB, dir string) string {
	t.Helper()
	secret := t.TempDir()
	err := os.Mkdir(filepath.Join(secret, "..2026_11_23"), 0o700)
	if err == nil {
		err = os.Symlink("..2026_11_23", filepath.Join(secret, "..data"))
	}
	for old, name := range map[string]string{"ca.pem": "ca.crt", "cert.pem": "tls.crt", "key.pem": "tls.key"} {
		data, failed := os.ReadFile(filepath.Join(dir, old))
		err = errors.Join(err, failed, os.WriteFile(filepath.Join(secret, "..data", name), data, 0o600),
			os.Symlink(filepath.Join("..data", name), filepath.Join(secret, name)))
	}
	law.Check(t, err)
	return secret
}

// socketNames gives endpoints of sockets, in a directory whose name leaves room in the 104 bytes that some systems take of a
// socket's, as that of t.TempDir does not where TMPDIR is long.
func socketNames(t testing.TB) func() string {
	dir, err := os.MkdirTemp("", "s")
	law.Check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	var n atomic.Int32
	return func() string {
		return "unix:" + filepath.Join(dir, string('a'+rune(n.Add(1))))
	}
}
