package transport

import (
	"context"
	"errors"
)

// Transport carries requests to endpoints and answers back. [FastHTTP] and [Memory] are the implementations of this
// package; test your own with package transporttest.
//
// Contract, for every implementation:
//   - Call sends the concatenation of req and gives the answer's body to read, once, on the calling goroutine. The body
//     belongs to the transport again when read returns; an error of read is returned by Call as it is.
//   - Call returns when ctx ends, with an error that wraps ctx's cause. The request may have been served all the same:
//     Call never repeats a request by itself, and callers that repeat must make that safe.
//   - An error that proves that no server saw the request wraps [ErrUnreachable]; every error names the endpoint.
//   - A message over the implementation's limit is refused with [ErrTooLarge] on the sending side.
//   - The slices of req are only read, and only until Call returns.
//   - Everything is safe for concurrent use.
//
// A transport may be [IdleCloser], [Metered] and [Readable], and have these methods:
//
//	MessageLimit() int              the largest message of Call and Reply, in bytes; 1 GiB without it
//	Guards(endpoint string) bool    whether messages to the endpoint, and the answers, are safe from damage: to others
//	                                [Compressed] adds a checksum, since TCP's own of 16 bits is too weak for the
//	                                gradients of a long training
type Transport interface {
	Call(ctx context.Context, endpoint string, req [][]byte, read func(body []byte) error) error
	// Listen claims an endpoint. "host:0" picks a free port; Listener.Endpoint says which.
	Listen(endpoint string) (Listener, error)
}

// Listener is a claimed endpoint. Requests that arrive between Listen and Serve wait. It may have the methods of
// [ServeScreened] and [HandleReads], by which a server asks for more.
type Listener interface {
	// Endpoint is the address that clients call.
	Endpoint() string
	// Serve answers requests with h until Close, and then returns nil. Each request has its own goroutine, which h may
	// block.
	Serve(h Handler) error
	// Close stops taking requests, waits for the handlers in flight until ctx ends, and frees the endpoint.
	Close(ctx context.Context) error
}

// Handler answers one request. req is valid until Handler returns. A panic in it ends that call with an error on the
// client's side and nothing else.
type Handler func(req []byte, reply *Reply)

// Reply is the answer to a request, filled in by a Handler.
type Reply struct {
	// Parts are sent one after another. They must stay unchanged until Done is called.
	Parts [][]byte
	// Stranger says that the caller is not a client of this server: the connection may be closed after the answer.
	Stranger bool
	// Broken, if a transport sets it, says whether the client's side has closed the connection of the request, as the
	// system does for a process that dies. It may be called at any later time.
	Broken func() bool
	// First says that this is the connection's first request. Some proxies make a new connection for each request; if
	// all requests of a client are first, the end of a connection does not mean that the client died.
	First bool
	// Done, if set, is called once when the transport no longer needs Parts, sent or not.
	Done func()
}

var (
	// ErrUnreachable says that no server saw the request: the port is closed, or the connection could not be made.
	ErrUnreachable = errors.New("endpoint unreachable")
	// ErrTooLarge says that a message is over the transport's bound.
	ErrTooLarge = errors.New("message too large")
)
