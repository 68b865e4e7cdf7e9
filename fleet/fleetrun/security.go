package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/certs"
	"github.com/gofleet/gofleet/transport"
)

// readSecurity reports which processes are let in. problem is why the environment gives no transport, nil if it does.
func (d *doctor) readSecurity(t *transport.FastHTTP, problem error) {
	d.section("security")
	if problem != nil {
		d.say("mode", "unsettled: %v", problem)
		d.lacks("%v", problem)
		return
	}
	d.say("mode", "%s", mode(t))
	if t.TLSDir != "" {
		d.readCertificates(t.TLSDir)
	}
}

func mode(t *transport.FastHTTP) string {
	switch {
	case t.TLSDir != "" && t.Token != "":
		return "TLS 1.3: servers show certificates, clients the token"
	case t.TLSDir != "":
		return "TLS 1.3: both sides show certificates"
	case t.Insecure:
		return "FLEET_INSECURE: plaintext, between machines too"
	}
	return "plaintext, which stays on this machine: loopback addresses and unix sockets"
}

// readCertificates reports how long the certificates of a directory are valid, and for which hosts.
func (d *doctor) readCertificates(dir string) {
	ca, cert, key := certs.Files(dir)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		d.say("certificate", "none, which a client with a token does without")
		return
	}
	leaf := pair.Leaf
	hosts := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	d.say("certificate", "%s\nvalid from %s until %s\nfor %s", cert, leaf.NotBefore.Format(time.DateTime),
		leaf.NotAfter.Format(time.DateTime), strings.Join(wrap(hosts, 100), "\n    "))
	if err := certified(leaf, ca); err != nil {
		d.lacks("%s does not do: %v: \"fleetrun certs\" makes a directory, of which each machine gets a "+
			"copy", cert, err)
	}
	d.checkHosts(leaf)
	if info, err := os.Stat(key); err == nil && runtime.GOOS != "windows" &&
		info.Mode()&fs.FileMode(0o077) != 0 {
		d.says("other users may read %s: chmod 600", key)
	}
}

// certified returns what is wrong with a certificate under its authority.
func certified(leaf *x509.Certificate, ca string) error {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s holds no certificate", ca)
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: authorities, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err
}

// checkHosts compares a certificate with the endpoints at which roles here are called.
func (d *doctor) checkHosts(leaf *x509.Certificate) {
	own, _ := d.endpoints()
	for _, o := range own {
		host, _, err := net.SplitHostPort(o.endpoint)
		if err != nil { // of a unix socket
			continue
		}
		if err := leaf.VerifyHostname(host); err != nil {
			d.lacks("%s is called at %s, and its certificate is for others: %v", o.name, o.endpoint, err)
		}
	}
}
