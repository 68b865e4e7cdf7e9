//go:build !amd64 && !arm64

package table

// Machines without this prefetch load a block's lines when they are used; the loops that use them have few other
// dependencies, so that an out-of-order CPU overlaps most of it.

func prefetchEntries(*place, uint, *item, int) {}

func prefetchRows(**header, int, int) {}
