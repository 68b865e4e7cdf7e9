// Package certs makes certificates for the processes of a small cluster: an authority of its own, and directories as
// FLEET_TLS_DIR wants them.
//
//	authority, err := certs.New(365 * 24 * time.Hour)
//	err = authority.WriteDir("tls", "10.89.176.11", "10.89.176.12")
//
// The authority's key is written nowhere, so that nobody can sign for the cluster later; whoever needs a certificate
// for one more machine makes a new authority and replaces all directories. A cluster with an authority of its own uses
// that.
//
// It stands apart from package transport, whose CA it is, so that the launcher makes certificates without the network's
// packages.
package certs
