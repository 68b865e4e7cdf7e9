package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/certs"
)

// FromEnv returns a FastHTTP that is secured, and listens, as the environment says:
//
//	FLEET_TLS_DIR    a directory with ca.pem, cert.pem and key.pem, or ca.crt, tls.crt and tls.key (FastHTTP.TLSDir)
//	FLEET_TOKEN      a secret shared by all processes, for use with FLEET_TLS_DIR (FastHTTP.Token)
//	FLEET_READ_TOKEN a secret of readers outside the job (FastHTTP.ReadToken)
//	FLEET_INSECURE   1: plaintext between machines (FastHTTP.Insecure)
//	FLEET_CLUSTER    a name of the cluster, the same for all its processes (FastHTTP.Cluster)
//	FLEET_LISTEN     where to listen, if not at the endpoint that others call (FastHTTP.ListenAddr)
func FromEnv() (*FastHTTP, error) {
	token := func(name string) string {
		return strings.TrimRight(os.Getenv(name), "\r\n") // a file of a token may end in a newline
	}
	f := &FastHTTP{TLSDir: os.Getenv("FLEET_TLS_DIR"), Token: token("FLEET_TOKEN"),
		ReadToken: token("FLEET_READ_TOKEN"), Cluster: os.Getenv("FLEET_CLUSTER"),
		ListenAddr: os.Getenv("FLEET_LISTEN")}
	if v := os.Getenv("FLEET_INSECURE"); v != "" {
		insecure, err := strconv.ParseBool(v)
		if err != nil {
			return nil, fmt.Errorf("transport: FLEET_INSECURE=%q is neither 1 nor 0", v)
		}
		f.Insecure = insecure
	}
	if _, err := f.tlsConfig(); err != nil {
		return nil, err
	}
	return f, nil
}

// plaintextRefused is the error for plaintext to another machine, with the ways to allow it. to is the address if the
// endpoint is a name for it.
func plaintextRefused(to string, token bool) error {
	why := "plaintext may not leave this machine"
	if token {
		why += ", and a token in plaintext protects nothing"
	}
	if to != "" {
		to = " " + to
	}
	return &ownRefusal{fmt.Sprintf("this process refuses%s: %s; set FLEET_TLS_DIR to a directory with ca.pem, "+
		"cert.pem and key.pem, or FLEET_TOKEN besides it, or FLEET_INSECURE=1 on a network that is closed by other "+
		"means (in a program: FastHTTP.TLSDir, Token, Insecure)", to, why)}
}

// ownRefusal is an ErrRefused that this side raises before it sends a request.
type ownRefusal struct{ text string }

func (e *ownRefusal) Error() string        { return e.text }
func (e *ownRefusal) Is(target error) bool { return target == ErrRefused }

// tlsConfig returns the configuration of clients and listeners, from the present files of TLSDir; nil means plaintext.
func (f *FastHTTP) tlsConfig() (*tls.Config, error) {
	f.loadTLS.Do(func() {
		switch err := f.checkReadToken(); {
		case err != nil:
			f.tlsErr = err
		case strings.ContainsAny(f.Token, "\r\n"):
			f.tlsErr = fmt.Errorf("%w: the token has a line break, which no request can carry", ErrRefused)
		case f.TLS != nil:
			f.tls = f.TLS.Clone()
			f.tls.MinVersion = max(f.tls.MinVersion, tls.VersionTLS13)
		case f.TLSDir != "":
			f.files = &certificates{dir: f.TLSDir, token: f.Token != "" || f.ReadToken != "", log: f.logger}
		}
	})
	if f.files != nil {
		return f.files.now()
	}
	return f.tls, f.tlsErr
}

// serverTLS returns tlsConfig, checked for what a listener needs.
func (f *FastHTTP) serverTLS() (*tls.Config, error) {
	config, err := f.tlsConfig()
	switch {
	case err != nil || config == nil:
		return nil, err
	case len(config.Certificates) == 0 && config.GetCertificate == nil && config.GetConfigForClient == nil:
		return nil, fmt.Errorf("%w: a server needs cert.pem and key.pem besides ca.pem", ErrRefused)
	case f.Token == "" && f.ReadToken != "":
		return nil, fmt.Errorf("%w: FLEET_READ_TOKEN (FastHTTP.ReadToken) with TLS needs FLEET_TOKEN besides: without "+
			"it a certificate makes a worker, also of a reader", ErrRefused)
	case f.Token == "" && config.ClientAuth != tls.RequireAndVerifyClientCert && config.GetConfigForClient == nil:
		return nil, fmt.Errorf("%w: TLS without client certificates needs a Token; set it, or "+
			"ClientAuth to tls.RequireAndVerifyClientCert", ErrRefused)
	}
	if f.files != nil {
		config = f.files.listener(config)
	}
	return config, nil
}

// readTLSDir loads a directory of certificates. With a token, a client may have no certificate of its own.
func readTLSDir(dir string, token bool) (*tls.Config, error) {
	ca, cert, key := certs.Files(dir)
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("transport: TLS directory: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("transport: TLS directory: %s holds no certificate", ca)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert}
	if token {
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err == nil {
		config.Certificates = []tls.Certificate{pair}
	} else if !token || !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("transport: TLS directory %s: %w", dir, err)
	}
	return config, nil
}

// warn logs at the start of a listener two faults that the operator would otherwise see late or never: a certificate of
// this listener that is not valid now, and a token that is readable on the network.
func (f *FastHTTP) warn(config *tls.Config, endpoint string, at net.Addr) {
	if tcp, ok := at.(*net.TCPAddr); ok && config == nil && f.Token+f.ReadToken != "" && !tcp.IP.IsLoopback() {
		f.logger().Warn("transport: the token travels in plaintext: whoever sees the network can read and use it; set "+
			"FLEET_TLS_DIR", "endpoint", endpoint)
	}
	if config == nil || len(config.Certificates) == 0 {
		return
	}
	leaf, now := config.Certificates[0].Leaf, time.Now()
	if leaf != nil && (now.After(leaf.NotAfter) || now.Before(leaf.NotBefore)) {
		f.logger().Warn("transport: the server's own certificate is not valid now, so that clients will refuse it",
			"endpoint", endpoint, "valid from", leaf.NotBefore, "until", leaf.NotAfter)
	}
}
