// Package transport carries bytes between workers and servers, and nothing else: it knows requests, answers and
// endpoints, not tables or gradients.
//
// A server claims an endpoint and serves it:
//
//	t := &transport.FastHTTP{}
//	l, err := t.Listen("127.0.0.1:0")
//	go l.Serve(func(req []byte, reply *transport.Reply) {
//		reply.Parts = [][]byte{answer(req)}
//	})
//	defer l.Close(ctx)
//
// A worker calls it. The request is given in parts, so that a header and the floats it describes need not be copied
// together; the answer is read where it lies:
//
//	err := t.Call(ctx, l.Endpoint(), [][]byte{header, floats}, func(body []byte) error {
//		return decode(body)
//	})
//
// [Memory] is a whole network inside one process: many instances of a program meet on it in a test. [FastHTTP] sends
// POST requests over TCP ("10.0.0.7:6001") or a unix socket ("unix:/run/fleet.sock") and keeps connections open between
// calls. [Compressed] is put around either and shrinks the messages for which it pays.
//
// # Who owns the bytes
//
// A slice that a function is given is lent for the length of the call: a request's parts until Call returns, the body
// inside read until read returns, a handler's req until the handler returns. Only a reply's parts live longer, until
// Done.
//
// # What an error tells
//
// [ErrUnreachable] proves that no server saw the request, so it may be sent again without care. [ErrRefused] says that
// the two sides do not trust or understand each other, so sending again does not help. [ErrTooLarge] says that the
// message is over the bound. [ErrBusy] is ErrUnreachable with a reason: the server had no room. [ErrCorrupt] says that
// a message was damaged on its way. Any other error, the end of ctx included, leaves open whether the request was
// served: who sends again must make that harmless. Call itself never repeats a request.
//
// # How large, and how much at once
//
// A message is at most MaxMessage (1 GiB where nothing else is set), on both sides. Beyond MaxInFlight, requests wait:
// in a client before they are sent to that endpoint, in a server before they are read, where their senders feel it as a
// full connection. Each wait has an end, ctx in the client and StallTimeout in the server, and an error that says what
// it waited for. Small messages, as heartbeats are, pass. An answer is not bounded so: its size is the server's choice.
//
// # Damage
//
// TLS proves that bytes arrive as they were sent, and memory and the loopback do not change any. Everywhere else
// [Compressed] adds a checksum, CRC-32C, to each message; see [Guarded].
//
// # What is counted
//
// Each transport of the house is [Metered]: calls, bytes before and after encoding, what is under way, how long it
// waited, and refusals by cause. [Stats] is made for a log:
//
//	slog.Info("transport", "stats", t.Stats())
//
// Calls that are repeated count each time, since it is the caller who repeats them.
//
// # Who may talk
//
// Plaintext stays on the machine: loopback addresses and unix sockets. Anything else needs a directory of certificates,
// or a token besides it, or Insecure written out; see [FastHTTP] and [FromEnv]. "fleetrun certs" makes certificates for
// small clusters, [NewCA] for tests. Proxies named in the environment are never used. A server refuses clients of
// another version of the protocol or of another Cluster.
package transport

// The files of this package, in reading order.
//
// The contract:
//
//	transport.go  Transport, Listener, Handler, Reply
//	errors.go     what an error proves
//	powers.go     what a transport may have besides: bounds, idle connections, checksums
//	readers.go    who reads from a job, and takes no part in it
//	stats.go      what is counted
//
// In memory:
//
//	memory.go           a network inside one process
//	memory_listener.go  an endpoint of it
//
// HTTP, what both sides have:
//
//	fasthttp.go  FastHTTP
//	endpoint.go  addresses
//	security.go  certificates, tokens, plaintext
//	certificates.go  read again when they change
//	ca.go        certificates for tests and small clusters
//	socket.go    a connection's settings
//	buffer.go    memory, by size
//	room.go      budgets of the endpoints that are called
//	budget.go    bytes in flight, and who waits for room
//
// HTTP, the caller:
//
//	dial.go                        a new connection
//	conn.go                        one call on it
//	idle.go                        connections between calls
//	probe_unix.go, probe_other.go  whether an idle one is still open
//
// HTTP, the server:
//
//	bind.go        where it listens
//	listen.go      an endpoint
//	conns.go       how many connections, and for how long
//	serve.go       one connection
//	judge.go       which requests are served
//	complaints.go  what the log says of the others
//
// Around another transport:
//
//	compressed.go  messages made smaller where that pays
//	packet.go      a message on its way out
//	envelope.go    its first 16 bytes
//	checksum.go    damage
