//go:build race

package table

// The race detector drops pooled memory at random, so allocations can't be counted under it.
const raceEnabled = true
