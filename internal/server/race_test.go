//go:build race

package server

// The race detector drops pooled memory at random, so allocations can't be counted under it.
const raceEnabled = true
