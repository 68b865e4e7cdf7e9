// Package fleettest runs a whole cluster in one test process: servers and workers are goroutines, and the network is in
// memory.
//
//	func TestTraining(t *testing.T) {
//		fleettest.Run(t, 2, 4, func(ctx context.Context, f *fleet.Fleet) error {
//			return run(ctx, f) // the program, as every role runs it
//		})
//	}
//
// [Cluster.Simulate] does the same in virtual time, which advances only while all goroutines wait, on a network that
// may have faults:
//
//	faulty := func(net transport.Transport) transport.Transport {
//		return transporttest.NewFaulty(net, seed, transporttest.Faults{LoseAnswer: 0.1, Drop: 0.01})
//	}
//	fleettest.Cluster{Servers: 2, Workers: 3}.Simulate(t, faulty, program)
//
// The first role that fails ends the others and fails the test with its name. Goroutines of this module that are left
// over when the test ends also fail it.
package fleettest
