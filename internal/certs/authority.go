package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/gofleet/gofleet/internal/files"
)

// Authority signs certificates. Its key exists in memory only.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority whose certificates are valid for lifetime from now.
func New(lifetime time.Duration) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("new CA: %w", err)
	}
	template, err := certificate("gofleet cluster CA", time.Now().Add(lifetime))
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	cert, err := sign(template, template, key, key)
	if err != nil {
		return nil, err
	}
	return &Authority{cert: cert, key: key}, nil
}

// WriteDir writes ca.pem, cert.pem and key.pem into a directory, which it makes if needed. The certificate is for the
// given hosts, names or IP addresses, and for loopback; both sides of a connection can use it. key.pem is readable by
// its owner only.
func (a *Authority) WriteDir(dir string, hosts ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	template, err := certificate("gofleet", a.cert.NotAfter)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	addHosts(template, append([]string{"localhost", "127.0.0.1", "::1"}, hosts...))
	cert, err := sign(template, a.cert, key, a.key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	return writeDir(dir, a.cert.Raw, cert.Raw, secret)
}

func certificate(name string, until time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-5 * time.Minute), // clocks differ
		NotAfter:     until,
	}, nil
}

func addHosts(template *x509.Certificate, hosts []string) {
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return x509.ParseCertificate(raw)
}

func writeDir(dir string, ca, cert, key []byte) error {
	if err := files.CheckLocal(dir); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	for _, f := range []struct {
		name, kind string
		raw        []byte
		mode       os.FileMode
	}{
		{"ca.pem", "CERTIFICATE", ca, 0o644},
		{"cert.pem", "CERTIFICATE", cert, 0o644},
		{"key.pem", "PRIVATE KEY", key, 0o600},
	} {
		text := pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.raw})
		if err := os.WriteFile(filepath.Join(dir, f.name), text, f.mode); err != nil {
			return fmt.Errorf("certificate: %w", err)
		}
	}
	return nil
}

// Files returns the paths of the files in a TLS directory: the authority, the certificate and its key. They are
// ca.pem, cert.pem and key.pem, or ca.crt, tls.crt and tls.key, as in a Secret of Kubernetes, if there is a ca.crt and
// no ca.pem.
func Files(dir string) (ca, cert, key string) {
	names := []string{"ca.pem", "cert.pem", "key.pem"}
	if _, err := os.Stat(filepath.Join(dir, names[0])); errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, "ca.crt")); err == nil {
			names = []string{"ca.crt", "tls.crt", "tls.key"}
		}
	}
	return filepath.Join(dir, names[0]), filepath.Join(dir, names[1]), filepath.Join(dir, names[2])
}
