// Package fleettest runs a whole cluster in one test process: servers and workers are goroutines, the network is memory.
//
//	func TestTraining(t *testing.T) {
//		fleettest.Run(t, 2, 4, func(ctx context.Context, f *fleet.Fleet) error {
//			return run(ctx, f) // the program, as every role runs it
//		})
//	}
//
// The first role that fails ends the others and fails the test with its name. When all have returned, goroutines of this
// module that are left fail the test too.
package fleettest
