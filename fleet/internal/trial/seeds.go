package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// Seed draws a job, or a schedule of faults.
type Seed struct {
	N   uint64
	met map[string]int // faults, over all seeds
}

// EachSeed calls do with a share of a few seeds; with those in FLEET_SEEDS if it is set, a number, first:end, or "all"
// for the few, or with the seed of FLEET_SEED. It logs the faults that happened at the end of the test, if any.
func EachSeed(t *testing.T, few uint64, do func(Seed)) {
	t.Helper()
	first, end := seeds(t, few)
	met := map[string]int{}
	for n := first; n < end; n++ {
		do(Seed{n, met})
	}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(met)) {
		faults = append(faults, fmt.Sprintf("%s %d", name, met[name]))
	}
	if len(faults) > 0 {
		t.Logf("faults of %d seeds: %s", end-first, strings.Join(faults, ", "))
	}
}

func seeds(t *testing.T, few uint64) (first, end uint64) {
	t.Helper()
	number := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("FLEET_SEED or FLEET_SEEDS: %q must be a whole number, 0 or more", text)
		}
		return n
	}
	if text := os.Getenv("FLEET_SEED"); text != "" {
		return number(text), number(text) + 1
	}
	text := os.Getenv("FLEET_SEEDS")
	if from, to, ok := strings.Cut(text, ":"); ok {
		return number(from), number(to)
	}
	if text != "" && text != "all" {
		return 0, number(text)
	}
	return 0, uint64(law.Share(int(few)))
}

// Schedule returns the seed's faults of a network: their kinds, and their probabilities.
func (s Seed) Schedule() transporttest.Faults {
	r := rand.New(rand.NewPCG(s.N, 1))
	p := func(most float64) float64 {
		if r.IntN(3) == 0 {
			return 0
		}
		return most * r.Float64()
	}
	return transporttest.Faults{
		Refuse: p(0.05), LoseRequest: p(0.1), LoseAnswer: p(0.15), Drop: p(0.03), DropAnswer: p(0.03),
		HalfOpen: p(0.02),
		Delay:    p(0.3), Reorder: p(0.1), Duplicate: p(0.3), Late: p(0.2), Corrupt: p(0.1), Cut: p(0.1),
		Latency: time.Millisecond, // no two messages arrive at the same moment
	}
}

// Network puts the seed's faults in front of another network. They are the same in every run if processes are pinned.
func (s Seed) Network(below transport.Transport) *transporttest.Faulty {
	f := transporttest.NewFaulty(below, s.N, s.Schedule())
	f.Name = NameOf
	return f
}

// pinned is a fleet in the tests of its own package, where a process may have a fixed number instead of a random one:
// its messages, and so their faults, are then the same in every run.
type pinned interface{ Pin(process uint64) }

// Simulate runs a cluster of two servers on a network with the seed's faults, and returns how often each happened.
func (s Seed) Simulate(t *testing.T, workers int,
	program func(context.Context, *fleet.Fleet, transport.Transport) error) (met map[string]int) {
	var network *transporttest.Faulty
	defer func() {
		met = network.Counts()
		for name, n := range met {
			s.met[name] += n
		}
		if t.Failed() {
			t.Logf("run it again with FLEET_SEED=%d go test ./fleet -run '^%s$'; of %+v there were %v",
				s.N, strings.ReplaceAll(t.Name(), "/", "$/^"), s.Schedule(), network.Counts())
		}
	}()
	faulty := func(below transport.Transport) transport.Transport {
		network = s.Network(below)
		return network
	}
	Cluster(2, workers).Simulate(t, faulty, func(ctx context.Context, f *fleet.Fleet) error {
		p, ok := any(f).(pinned)
		if !ok {
			return errors.New("trial: seeds repeat in the tests of package fleet alone")
		}
		p.Pin(1)
		return program(ctx, f, network)
	})
	return met
}

// Patient returns a strategy for networks that lose messages without an error, each of which costs up to minutes of
// virtual time.
func Patient(s strategy.Strategy) strategy.Strategy {
	s.WaitTimeout = strategy.Duration(24 * time.Hour)
	return s.WithDefaults()
}

// Lossy is [Patient] for laws that play many such networks: heartbeats, which were a third of what they compute, are
// rarer there.
func Lossy(s strategy.Strategy) strategy.Strategy {
	s.HeartbeatInterval = strategy.Duration(2500 * time.Millisecond)
	return Patient(s)
}
