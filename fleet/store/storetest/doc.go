// Package storetest tests implementations of store.Store, and provides a store in memory.
//
// Run checks a store against the contract of package store. The stores of this module pass it, and your own should too:
//
//	func TestMine(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) (store.Store, string) { return NewMine(), "bucket/" + t.Name() })
//	}
//
// A [Memory] records all changes, can be restored to its state after any of them, and can make requests fail, hang, or
// succeed without an answer. Mount gives it its own URLs for a test:
//
//	m := storetest.NewMemory()
//	dir := storetest.Mount(t, m) + "/job"
package storetest
