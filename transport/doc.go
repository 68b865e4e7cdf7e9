// Package transport carries bytes between workers and servers. It deals in requests, answers and endpoints only, not in
// tables or gradients.
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
// A worker calls it. The request is passed in parts, so that a header and the floats it describes need not be copied
// into one buffer; the answer is read in place:
//
//	err := t.Call(ctx, l.Endpoint(), [][]byte{header, floats}, func(body []byte) error {
//		return decode(body)
//	})
//
// [Memory] is a network inside one process, for tests with many instances of a program. [FastHTTP] sends POST requests
// over TCP ("10.0.0.7:6001") or a unix socket ("unix:/run/fleet.sock") and keeps connections open between calls.
// [Compressed] wraps either and compresses the messages that become smaller by it.
//
// # Who owns the bytes
//
// Slices are lent for the duration of a call: a request's parts until Call returns, the body passed to read until read
// returns, a handler's req until the handler returns. Only a reply's parts must stay unchanged longer, until Done.
//
// # What an error means
//
// [ErrUnreachable] proves that no server saw the request, so it is always safe to send again. [ErrRefused] means that
// the two sides do not trust or understand each other, so sending again does not help. [ErrTooLarge] means that the
// message is over the limit. [ErrBusy] is ErrUnreachable with a reason: the server had no room. [ErrCorrupt] means that
// a message was damaged in transit. After any other error, including the end of ctx, the request may or may not have
// been served: a caller that sends it again must make that harmless. Call itself never repeats a request.
//
// # How large, and how much at once
//
// A message is at most MaxMessage (by default 1 GiB), on both sides. Beyond MaxInFlight, requests wait: in a client
// before they are sent to that endpoint, in a server before they are read, which blocks their senders' connections.
// Each wait is bounded, by ctx in the client and StallTimeout in the server, and ends with an error that says what it
// waited for. Small messages, such as heartbeats, don't wait. Answers have no such bound: their size is the server's
// choice.
//
// # Damage
//
// TLS proves that bytes arrive as they were sent, and memory and the loopback do not change bytes. Everywhere else
// [Compressed] adds a checksum, CRC-32C, to each message; see [Transport].
//
// # What is counted
//
// Every transport of this package is [Metered]: it counts calls, bytes before and after encoding, requests in flight,
// waiting times, and refusals by cause. [Stats] can be logged:
//
//	slog.Info("transport", "stats", t.Stats())
//
// A repeated call counts each time, since the caller repeats it.
//
// # Security
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
//	powers.go     optional interfaces: bounds, idle connections, checksums
//	readers.go    readers outside the job
//	stats.go      counters
//
// In memory:
//
//	memory.go           a network inside one process
//	memory_listener.go  an endpoint of it
//
// HTTP, both sides:
//
//	fasthttp.go  FastHTTP
//	endpoint.go  addresses
//	security.go  certificates, tokens, plaintext
//	certificates.go  certificates that are read again when they change
//	ca.go        certificates for tests and small clusters
//	socket.go    a connection's settings
//	buffer.go    memory, by size
//	room.go      budgets of the endpoints that are called
//	budget.go    bytes in flight, and requests that wait for room
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
//	bind.go        the address to listen at
//	listen.go      an endpoint
//	conns.go       how many connections, and for how long
//	serve.go       one connection
//	judge.go       which requests are served
//	complaints.go  log lines about the others
//
// Around another transport:
//
//	compressed.go  messages made smaller where that pays
//	packet.go      a message before it is sent
//	envelope.go    its first 16 bytes
//	checksum.go    damage
