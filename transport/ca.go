package transport

import (
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/certs"
)

// CA is a certificate authority for tests and small clusters; "fleetrun certs" does the same from a shell. Its key
// lives in memory only: a cluster that needs another certificate later gets a new CA and new directories.
type CA struct{ authority *certs.Authority }

// NewCA makes an authority whose certificates are valid for lifetime from now on.
func NewCA(lifetime time.Duration) (*CA, error) {
	authority, err := certs.New(lifetime)
	if err != nil {
		return nil, fmt.Errorf("transport: %w", err)
	}
	return &CA{authority: authority}, nil
}

// WriteDir makes a certificate for the given hosts, names or IP addresses, and writes a directory as FastHTTP.TLSDir
// and FLEET_TLS_DIR want it: ca.pem, cert.pem and key.pem, the last readable by its owner alone. The certificate serves
// for both sides of a connection, and for this machine's loopback too. One directory may be copied to every machine it
// names.
func (ca *CA) WriteDir(dir string, hosts ...string) error {
	if err := ca.authority.WriteDir(dir, hosts...); err != nil {
		return fmt.Errorf("transport: %w", err)
	}
	return nil
}
