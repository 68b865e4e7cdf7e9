package transport

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/certs"
)

// certificates are the files of a TLSDir, which are read again when they have changed, like a mounted Secret whose
// certificate was renewed. Existing connections are not affected; each new one uses the current files.
type certificates struct {
	dir   string
	token bool
	log   func() *slog.Logger

	mu     sync.Mutex // guards the fields below
	config *tls.Config
	read   [3]os.FileInfo // nil for a missing file
}

// found returns the current state of the files.
func (c *certificates) found() (all [3]os.FileInfo) {
	ca, cert, key := certs.Files(c.dir)
	for i, name := range []string{ca, cert, key} {
		all[i], _ = os.Stat(name)
	}
	return all
}

// same reports whether a file has not changed.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// now is the configuration from the current files. If they can't be read, or don't match, they are read again when they
// have changed: until then the configuration before counts.
func (c *certificates) now() (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.found()
	if c.config != nil && slices.EqualFunc(found[:], c.read[:], same) {
		return c.config, nil
	}
	config, err := readTLSDir(c.dir, c.token)
	// Clients with a token may lack a certificate, but must not lose it.
	if err == nil && c.config != nil && len(config.Certificates) < len(c.config.Certificates) {
		err = fmt.Errorf("%s has no certificate and key now", c.dir)
	}
	switch {
	case err == nil && c.config != nil:
		c.log().Info("transport: certificates were read again", "dir", c.dir)
	case err != nil && c.config != nil:
		c.log().Warn("transport: new certificates can't be used: those before count still", "error", err)
	case err != nil:
		return nil, err
	}
	if err == nil {
		c.config = config
	}
	c.read = found
	return c.config, nil
}

// listener is the configuration of a listener that checks the files for each connection.
func (c *certificates) listener(now *tls.Config) *tls.Config {
	config := now.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.now() }
	return config
}
