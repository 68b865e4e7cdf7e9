//go:build amd64 || arm64

package table

// prefetchEntries prefetches the index line of every item's first entry.
//
//go:noescape
func prefetchEntries(places *place, shift uint, items *item, n int)

// prefetchRows prefetches the lines of n rows from their first byte to the byte last.
//
//go:noescape
func prefetchRows(rows **header, n, last int)
