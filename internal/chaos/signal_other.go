//go:build !unix

package main

import "errors"

// signalTo has no counterpart here.
func signalTo(int, string) error {
	return errors.New("chaos: processes are ended and stopped by signals of unix")
}
