package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// dial makes a new connection, with TLS if it is configured. Its errors prove that no server saw a request.
func (f *FastHTTP) dial(ctx context.Context, endpoint string) (*clientConn, error) {
	network, addr, err := address(endpoint)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	config, err := f.tlsConfig()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.dialTimeout())
	defer cancel()
	dialer := net.Dialer{Control: f.guard(config, addr)}
	raw, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, dialError(err)
	}
	tune(raw)
	if config == nil || network == "unix" {
		f.calls.dials.Add(1)
		return newClientConn(raw, raw, f), nil
	}
	secured, err := shakeHands(ctx, raw, addr, config)
	if err != nil {
		return nil, err
	}
	f.calls.dials.Add(1)
	return newClientConn(secured, raw, f), nil
}

// guard refuses, before a byte is sent, an address to which plaintext may not go. It checks the address that a name has
// resolved to, which the socket is about to use: a name that looks local and isn't is refused too.
func (f *FastHTTP) guard(config *tls.Config, endpoint string) func(network, addr string, _ syscall.RawConn) error {
	return func(network, addr string, _ syscall.RawConn) error {
		if config != nil || f.Insecure || onThisMachine(network, addr) {
			return nil
		}
		if addr == endpoint {
			addr = "" // the error of the call has it
		}
		return plaintextRefused(addr, f.Token != "")
	}
}

func dialError(err error) error {
	var own *ownRefusal
	if errors.As(err, &own) {
		return own
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

func shakeHands(ctx context.Context, raw net.Conn, addr string, config *tls.Config) (net.Conn, error) {
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secured := tls.Client(raw, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		if refusal := tlsRefusal(err); refusal != nil {
			return nil, refusal
		}
		return nil, fmt.Errorf("%w: TLS handshake: %w", ErrUnreachable, err)
	}
	return secured, nil
}

// tlsRefusal distinguishes a refusal inside TLS from a broken connection; nil for the latter.
func tlsRefusal(err error) error {
	var op *net.OpError
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &verify):
		return fmt.Errorf("%w: the server's certificate does not do: %w", ErrRefused, err)
	case errors.As(err, &record):
		return fmt.Errorf("%w: the server does not speak TLS; give it a TLSDir (FLEET_TLS_DIR) too: %w", ErrRefused,
			err)
	case errors.As(err, &op) && op.Op == "remote error":
		return fmt.Errorf("%w: the server does not accept our certificate: %w", ErrRefused, err)
	}
	return nil
}
