// Package certs makes certificates for the processes of a small cluster: a certificate authority, and directories in
// the layout of FLEET_TLS_DIR.
//
//	authority, err := certs.New(365 * 24 * time.Hour)
//	err = authority.WriteDir("tls", "10.89.176.11", "10.89.176.12")
//
// The authority's key is never written, so that no certificate for the cluster can be signed later. A certificate for
// one more machine needs a new authority, and replaces all directories. A cluster that has its own authority should use
// that.
//
// The package is separate from package transport, which uses the certificates, so that the launcher can make them
// without importing network packages.
package certs
