package transport

import (
	"context"
	"errors"
	"fmt"
)

// ErrRefused says that one side refused the other, by a certificate, a token, the rule on plaintext or because it does
// not speak the same protocol. No handler saw the request, and sending it again does not help.
var ErrRefused = errors.New("refused")

// ErrBusy says that the server had no room for the request in time: too many bytes are in flight there
// (FastHTTP.MaxInFlight). It comes with [ErrUnreachable], for no handler saw the request; send it again later.
var ErrBusy = errors.New("server busy")

// ErrReturned says that a listener has returned from Serve before its Close, without an error.
var ErrReturned = errors.New("the transport's Serve has returned before Close")

// failed names the endpoint in an error of a call.
func failed(endpoint string, err error) error {
	return fmt.Errorf("transport: call %s: %w", endpoint, err)
}

// ended is the reason of an ended ctx: its error and, if the caller gave one, its cause.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// oversize is ErrTooLarge with the sizes.
func oversize(what string, size, bound int) error {
	return fmt.Errorf("%w: %s of %d bytes, the bound is %d; send it in pieces or raise MaxMessage on both sides",
		ErrTooLarge, what, size, bound)
}
