//go:build !unix

package main

import "errors"

// signalTo returns an error, since this system has no such signals.
func signalTo(int, string) error {
	return errors.New("chaos: processes are ended and stopped by signals of unix")
}
