// Package law says how much of a test that draws seeds, or goes through a table of whole jobs, a run of go test plays.
package law

import (
	"flag"
	"hash/fnv"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
)

// Share is how many of a law's seeds, or of its table's cases, this run plays: an eighth, at least 1 and at most 6.
// With -short it is 1. It is all of them where a law is asked for: by FLEET_SEEDS or FLEET_SEED, and by -run, which
// names it.
func Share(whole int) int {
	if testing.Short() {
		return min(whole, 1)
	}
	if os.Getenv("FLEET_SEEDS") != "" || os.Getenv("FLEET_SEED") != "" || flag.Lookup("test.run").Value.String() != "" {
		return whole
	}
	return min(whole, max(1, min(6, (whole+7)/8)))
}

// Tries is how many of n trials, each drawn anew, this run plays: a quarter, and with -short a sixteenth. It is all of
// them where Share is.
func Tries(n int) int {
	switch {
	case testing.Short():
		return (n + 15) / 16
	case Share(n) < n:
		return (n + 3) / 4
	}
	return n
}

// Draws has each law of a package that rapid draws for play as many of its 100 cases as Tries says, or all with any
// FLEET_SEEDS; -rapid.checks says otherwise. Its TestMain calls it.
func Draws() {
	flag.Parse()
	said := os.Getenv("FLEET_SEEDS") != ""
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "rapid.checks" })
	if !said {
		_ = flag.Set("rapid.checks", strconv.Itoa(Tries(100)))
	}
}

// Waits has three times as many tests of a package run beside each other as there are cores, since they wait more than
// they compute; -parallel says otherwise. Its TestMain calls it.
func Waits() {
	_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
}

// Long skips a test that -short leaves out, in runs under the race detector too: it takes long, and has no cases of
// which one alone could be played.
func Long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long, and -short is given")
	}
}

// Slow skips a test that takes more than about a tenth of a second of a processor, or waits a second, where -short is
// given without FLEET_SEEDS: a quick look. Runs under the race detector, which have both, play it.
func Slow(t *testing.T) {
	t.Helper()
	if testing.Short() && os.Getenv("FLEET_SEEDS") == "" {
		t.Skip("it takes more than a tenth of a second, and -short is given")
	}
}

// Some is the share of a law's cases that this run plays. The test's name says where it begins, so that tests of the
// same cases share them out between them, and a test plays the same cases in every run.
func Some[V any](t *testing.T, all []V) []V {
	t.Helper()
	n := Share(len(all))
	if n == len(all) {
		return all
	}
	h := fnv.New32a()
	h.Write([]byte(t.Name()))
	begin, some := int(h.Sum32()%uint32(len(all))), make([]V, n)
	for i := range some {
		some[i] = all[(begin+i*len(all)/n)%len(all)]
	}
	t.Logf("%d of %d cases: -run, or FLEET_SEEDS=all, plays them all", n, len(all))
	return some
}

// SomeOf is the share of a law's table that this run plays, as Some.
func SomeOf[V any](t *testing.T, all map[string]V) map[string]V {
	t.Helper()
	some := map[string]V{}
	for _, name := range Some(t, slices.Sorted(maps.Keys(all))) {
		some[name] = all[name]
	}
	return some
}
