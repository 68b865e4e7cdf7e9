// Package law has what tests of all packages share: which seeds or cases of a randomised or table-driven test a run
// covers, mutants, and the end of a test by an error.
package law

import (
	"flag"
	"hash/fnv"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
)

// Share returns how many of a test's seeds, or of its table's cases, this run covers: an eighth, at least 1 and at most
// 6; 1 with -short. It is all of them if FLEET_SEEDS or FLEET_SEED is set, or -run is given.
func Share(whole int) int {
	if testing.Short() {
		return min(whole, 1)
	}
	if os.Getenv("FLEET_SEEDS") != "" || os.Getenv("FLEET_SEED") != "" || flag.Lookup("test.run").Value.String() != "" {
		return whole
	}
	return min(whole, max(1, min(6, (whole+7)/8)))
}

// Tries returns how many of n trials, each drawn anew, this run covers: a quarter, and with -short a sixteenth. It is
// all of them if Share returns all.
func Tries(n int) int {
	switch {
	case testing.Short():
		return (n + 15) / 16
	case Share(n) < n:
		return (n + 3) / 4
	}
	return n
}

// Draws makes each test of a package that rapid draws cases for run as many of its 100 cases as Tries says, or all with
// any FLEET_SEEDS, unless -rapid.checks is given. The package's TestMain calls it.
func Draws() {
	flag.Parse()
	said := os.Getenv("FLEET_SEEDS") != ""
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "rapid.checks" })
	if !said {
		_ = flag.Set("rapid.checks", strconv.Itoa(Tries(100)))
	}
}

// Waits makes three times as many tests of a package run in parallel as there are cores, since they wait more than they
// compute. -parallel sets another number. The package's TestMain calls it.
func Waits() {
	_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
}

// Quickly runs the tests of a package InMemory, and collects garbage less often: their heaps are small, and a fifth of
// their time went into that. The package's TestMain calls it.
func Quickly(m *testing.M) int {
	debug.SetGCPercent(400)
	return InMemory(m)
}

// Long skips a test with -short, also in runs under the race detector: the test takes long, and has no cases of which
// one could be run alone.
func Long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long, and -short is given")
	}
}

// Slow skips, with -short and without FLEET_SEEDS, a test that takes more than about a tenth of a second of a
// processor, or waits a second. Runs under the race detector have both, and run the test.
func Slow(t *testing.T) {
	t.Helper()
	if testing.Short() && os.Getenv("FLEET_SEEDS") == "" {
		t.Skip("it takes more than a tenth of a second, and -short is given")
	}
}

// Some returns the share of a test's cases that this run covers. The test's name decides where the share begins, so
// that tests of the same cases cover different ones, and a test covers the same cases in every run.
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

// SomeOf is Some for a table by name.
func SomeOf[V any](t *testing.T, all map[string]V) map[string]V {
	t.Helper()
	some := map[string]V{}
	for _, name := range Some(t, slices.Sorted(maps.Keys(all))) {
		some[name] = all[name]
	}
	return some
}

// Fataler is a test, a benchmark, or a case of one that package rapid has drawn.
type Fataler interface {
	Helper()
	Fatal(args ...any)
}

// Check ends a test where err is not nil.
func Check(t Fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
