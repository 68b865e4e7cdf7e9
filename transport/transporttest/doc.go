// Package transporttest is the exam for a transport.Transport, and a bad network on demand.
//
// Run holds an implementation to the contract of package transport. Ours sit it, bare and inside each other; one of
// your own should too:
//
//	func TestMine(t *testing.T) {
//		transporttest.Run(t, func() transport.Transport { return NewMine() }, func() string { return "127.0.0.1:0" })
//	}
//
// Faulty puts faults, chosen by a seed, in front of any transport, so that a program can be tested against the network
// it will meet one day:
//
//	net := transporttest.NewFaulty(transport.NewMemory(), 42, transporttest.Faults{Drop: 0.01, LoseAnswer: 0.02, Duplicate: 0.05})
//
// Which message meets which fault depends on the seed, the endpoint and the message, not on the order in which
// goroutines run: a failing seed fails again. Messages can be lost, held back, repeated, reordered, cut, changed, or
// met with silence; [Faults] has the list. Put it below transport.Compressed, which notices what was cut or changed.
//
// Relay does the same to real connections: it listens in front of a server, on TCP, and breaks, damages, slows or
// silences the lines that go through it:
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
//	messages.go  what arrives
//	failures.go  what fails, and how it says so
//	closing.go   Close, while calls run
//	counting.go  what is counted
//	leaks.go     goroutines that were left
//
// Bad messages:
//
//	faults.go  what may go wrong, decided by seed and message
//	faulty.go  a transport that does it
//	late.go    messages that come later or again
//
// Bad lines:
//
//	relay.go    a listener in front of a server that breaks its connections
//	relayed.go  one in front of every listener
