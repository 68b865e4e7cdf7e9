// Package transporttest is the exam for a transport.Transport, and a bad network on demand.
//
// Run holds an implementation to the contract of package transport. Ours sit it, bare and inside each other; one of your own
// should too:
//
//	func TestMine(t *testing.T) {
//		transporttest.Run(t, func() transport.Transport { return NewMine() }, func() string { return "127.0.0.1:0" })
//	}
//
// Faulty puts faults, chosen by a seed, in front of any transport, so that a program can be tested against the network it
// will meet one day:
//
//	net := transporttest.NewFaulty(transport.NewMemory(), 42, transporttest.Faults{Drop: 0.01, LoseAnswer: 0.02, Duplicate: 0.05})
//
// Which message meets which fault depends on the seed, the endpoint and the message, not on the order in which goroutines
// run: a failing seed fails again.
package transporttest
