// Package transporttest tests implementations of transport.Transport, and simulates faulty networks.
//
// Run checks an implementation against the contract of package transport. The transports of this module pass it, alone
// and wrapped; use it for your own transports too:
//
//	func TestMine(t *testing.T) {
//		transporttest.Run(t, func() transport.Transport { return NewMine() }, func() string { return "127.0.0.1:0" })
//	}
//
// Faulty wraps any transport and injects faults chosen by a seed, so that a program can be tested on a bad network:
//
//	net := transporttest.NewFaulty(transport.NewMemory(), 42, transporttest.Faults{Drop: 0.01, LoseAnswer: 0.02, Duplicate: 0.05})
//
// The fault of a message depends only on the seed, the endpoint and the message, not on the order of goroutines, so a
// failing seed fails again. Messages can be lost, delayed, repeated, reordered, cut, changed, or left unanswered;
// [Faults] has the list. Put it below transport.Compressed, which detects cut and changed messages.
//
// Relay injects faults into real connections: it listens in front of a server, on TCP, and breaks, damages, slows or
// stalls the connections through it:
//
//	relay, err := transporttest.NewRelay(l.Endpoint(), 42, transporttest.LineFaults{Cut: 0.1, HalfOpen: 0.01})
//	err = t.Call(ctx, relay.Endpoint(), req, read)
//
// NewRelayed puts relays in front of all listeners of a transport at once.
package transporttest

// The files of this package, in reading order.
//
// The exam:
//
//	exam.go      Run
//	messages.go  messages arrive whole
//	failures.go  calls fail, with the right errors
//	closing.go   Close, while calls run
//	counting.go  counters
//	leaks.go     goroutines that still run after a test
//
// Bad messages:
//
//	faults.go  the faults of a message, decided by seed and message
//	faulty.go  a transport that injects them
//	late.go    messages that come later or again
//
// Bad lines:
//
//	relay.go    a listener in front of a server that breaks its connections
//	relayed.go  one in front of every listener
