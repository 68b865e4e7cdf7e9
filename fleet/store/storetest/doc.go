// Package storetest is the exam for a store.Store, and a store in memory for tests.
//
// Run holds a store to the contract of package store; those of the module sit it, and one of your own should too:
//
//	func TestMine(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) (store.Store, string) { return NewMine(), "bucket/" + t.Name() })
//	}
//
// A [Memory] remembers what was done to it, can be made again as it was behind any operation, and has requests that
// fail, hang, or are done and not answered. Mount gives it URLs of its own for a test:
//
//	m := storetest.NewMemory()
//	dir := storetest.Mount(t, m) + "/job"
package storetest
