package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/certs"
	"github.com/gofleet/gofleet/internal/mistyped"
)

const certsUsage = "Usage: fleetrun certs [--days N] DIR HOST...\n\n" +
	"Makes the certificates of a small cluster: DIR is what FLEET_TLS_DIR names on each of the hosts, which are " +
	"names or IP addresses.\n"

// certsCommand has the arguments of "fleetrun certs".
type certsCommand struct {
	days  int
	dir   string
	hosts []string
}

// runCerts is "fleetrun certs".
func runCerts(args []string, con *console) error {
	c, err := parseCerts(args)
	if err != nil {
		return err
	}
	if err := c.write(); err != nil {
		return failed{err}
	}
	fmt.Fprintf(con.out, "%s is for %s and loopback, for %d days. Copy it to every machine, with its key readable "+
		"by the job's user alone,\n"+
		"and set FLEET_TLS_DIR to its place for all roles.\n", c.dir, strings.Join(c.hosts, ", "), c.days)
	return nil
}

func parseCerts(args []string) (certsCommand, error) {
	var c certsCommand
	f := flag.NewFlagSet("fleetrun certs", flag.ContinueOnError)
	f.IntVar(&c.days, "days", 365, "how long certificates are valid")
	if err := mistyped.Parse(f, args, nil); err != nil {
		return c, err
	}
	if c.days < 1 || c.days > 36500 {
		return c, fmt.Errorf("--days=%d: certificates are valid for 1 to 36500 days", c.days)
	}
	if f.NArg() < 2 {
		return c, errors.New("name a directory, and the hosts that it is for: fleetrun certs tls 10.89.176.11 " +
			"10.89.176.12")
	}
	c.dir, c.hosts = f.Arg(0), f.Args()[1:]
	for _, host := range c.hosts {
		name := strings.TrimPrefix(host, "*.") // a wildcard for a domain
		e, err := parseEndpoint(name)
		if err == nil && (e.port != "" || e.host != name) {
			err = errors.New("expected a name or an IP address, without port or brackets")
		}
		if err != nil {
			return c, fmt.Errorf("host %q: %w", host, err)
		}
	}
	return c, nil
}

// write makes the directory. It refuses a directory that has certificates: machines with copies of them would not trust
// those of another authority.
func (c certsCommand) write() error {
	for _, name := range []string{"ca.pem", "cert.pem", "key.pem"} {
		if _, err := os.Lstat(filepath.Join(c.dir, name)); err == nil {
			return fmt.Errorf("%s is there already, and copies of it may be in use: name another directory, or "+
				"remove it", filepath.Join(c.dir, name))
		}
	}
	authority, err := certs.New(time.Duration(c.days) * 24 * time.Hour)
	if err == nil {
		err = authority.WriteDir(c.dir, c.hosts...)
	}
	return err
}
