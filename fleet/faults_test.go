package fleet_test

import (
	"context"
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
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// counter is an objective whose every step adds one to every weight and row it touches, so that weights count pushes.
type counter struct {
	w, rows *optimizer.Param
	trainer optimizer.Trainer
}

func newCounter(n int) *counter {
	return &counter{
		w:    &optimizer.Param{Name: "w", Shape: []int{n}, W: make([]float32, n), G: slices.Repeat([]float32{-1}, n)},
		rows: &optimizer.Param{Name: "rows", Shape: []int{0, 2}, Embedding: true},
	}
}

func (c *counter) Params() []*optimizer.Param { return []*optimizer.Param{c.w, c.rows} }
func (c *counter) Bind(t optimizer.Trainer)   { c.trainer = t }

func (c *counter) step(eval bool) *optimizer.Step {
	ids := make([]uint64, len(c.w.W))
	for i := range ids {
		ids[i] = uint64(i) << 32
	}
	n := 2 * len(ids)
	return &optimizer.Step{Samples: 1, Eval: eval, Rows: []optimizer.Rows{{Param: c.rows, IDs: ids, W: make([]float32, n), G: slices.Repeat(c.w.G[:1], n), Next: ids}}}
}

// Seeds of the fault schedules: a few by default, FLEET_SEEDS of them when it is set (a number, or first:end), or the one of
// FLEET_SEED.
func seeds(t *testing.T, few uint64) (first, end uint64) {
	t.Helper()
	number := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("FLEET_SEED or FLEET_SEEDS: %q is no number", text)
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
	if text != "" {
		return 0, number(text)
	}
	return 0, few
}

// schedule is what one seed does to a cluster: it picks the kinds of faults, and how often each happens.
func schedule(seed uint64) transporttest.Faults {
	r := rand.New(rand.NewPCG(seed, 1))
	p := func(most float64) float64 {
		if r.IntN(3) == 0 {
			return 0
		}
		return most * r.Float64()
	}
	return transporttest.Faults{
		Refuse: p(0.05), LoseRequest: p(0.1), LoseAnswer: p(0.15), Drop: p(0.03), DropAnswer: p(0.03), HalfOpen: p(0.02),
		Delay: p(0.3), Reorder: p(0.1), Duplicate: p(0.3), Late: p(0.2), Corrupt: p(0.1), Cut: p(0.1),
	}
}

// TestEveryPushCountsOnce loses, repeats, delays, reorders, cuts and damages messages by seed, and leaves some unanswered:
// afterwards the sums are exact. FLEET_SEEDS=10000 runs that many schedules; FLEET_SEED=n runs the one that failed.
func TestEveryPushCountsOnce(t *testing.T) {
	first, end := seeds(t, 24)
	met := map[string]int{}
	for seed := first; seed < end; seed++ {
		for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async(), {Mode: strategy.ModeSync, MaxFrame: 4096}, measured, {MaxFrame: 4096}, rarer(seed)} {
			s = patient(s)
			t.Run(fmt.Sprintf("%s/%d/%d", s.Mode, s.MaxFrame, seed), func(t *testing.T) { countUnderFaults(t, seed, s, met) })
		}
	}
	report(t, end-first, met)
}

// rarer is one of the modes that share most of their way with sync and async.
func rarer(seed uint64) strategy.Strategy {
	all := []strategy.Strategy{strategy.HalfAsync(), strategy.SSP(1), {MaxMergeVarNum: 8, SendQueueSize: 3, MaxFrame: 8192},
		{ThreadPoolSize: 3, SendQueueSize: 8, MaxFrame: 8192}}
	return all[seed%uint64(len(all))]
}

// measured is sync training whose servers measure every gradient together, and find it short enough.
var measured = strategy.Strategy{Mode: strategy.ModeSync, MaxFrame: 8192}

// counting is the rule by which weights count gradients.
func counting(s strategy.Strategy) optimizer.Rule {
	if s.Mode == measured.Mode && s.MaxFrame == measured.MaxFrame {
		return optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 1}, Norm: 1e9}
	}
	return optimizer.SGD{LR: 1}
}

// patient is a strategy for networks that lose messages without a word, each of which costs up to minutes of virtual time.
func patient(s strategy.Strategy) strategy.Strategy {
	s.WaitTimeout = strategy.Duration(24 * time.Hour)
	return s.WithDefaults()
}

// report says in a test's log which faults there were.
func report(t *testing.T, seeds uint64, met map[string]int) {
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(met)) {
		faults = append(faults, fmt.Sprintf("%s %d", name, met[name]))
	}
	t.Logf("faults of %d seeds: %s", seeds, strings.Join(faults, ", "))
}

func countUnderFaults(t *testing.T, seed uint64, s strategy.Strategy, met map[string]int) {
	const steps, workers = 8, 3
	want := float32(steps * workers)
	if s.Mode == strategy.ModeSync {
		want = steps // a round averages its workers' gradients, so it counts once
	}
	underFaults(t, seed, workers, met, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
		return count(ctx, f, s, steps, want)
	})
}

// underFaults simulates a cluster of two servers on a network with a seed's faults.
func underFaults(t *testing.T, seed uint64, workers int, met map[string]int, program func(context.Context, *fleet.Fleet, transport.Transport) error) {
	var network *transporttest.Faulty
	defer func() {
		for name, n := range network.Counts() {
			met[name] += n
		}
		if t.Failed() {
			t.Logf("run it again with FLEET_SEED=%d go test ./fleet -run '^%s$'; of %+v there were %v",
				seed, strings.ReplaceAll(t.Name(), "/", "$/^"), schedule(seed), network.Counts())
		}
	}()
	faulty := func(below transport.Transport) transport.Transport {
		network = transporttest.NewFaulty(below, seed, schedule(seed))
		return network
	}
	fleettest.Cluster{Servers: 2, Workers: workers}.Simulate(t, faulty, func(ctx context.Context, f *fleet.Fleet) error {
		f.Pin(1)
		return program(ctx, f, network)
	})
}

// frameFloats is how many weights a counter has: some, or as many as take several small frames.
func frameFloats(s strategy.Strategy) int {
	if s.MaxFrame < strategy.DefaultMaxFrame {
		return s.MaxFrame / 2
	}
	return 5
}

func count(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, steps int, want float32) error {
	c := newCounter(frameFloats(s))
	trainer, err := c.join(ctx, f, s)
	if err != nil || trainer == nil {
		return err
	}
	session, err := trainer.Open(c.Params())
	if err != nil {
		return err
	}
	for range steps {
		st := c.step(false)
		if err := session.Begin(ctx, st); err != nil {
			return err
		}
		if err := session.End(ctx, st); err != nil {
			return err
		}
	}
	if err := c.trainer.EndEpoch(ctx); err != nil {
		return err
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	st := c.step(true)
	if err := session.Begin(ctx, st); err != nil {
		return err
	}
	for i, w := range append(append([]float32(nil), c.w.W...), st.Rows[0].W...) {
		if w != want {
			return fmt.Errorf("worker %d: value %d counts %v pushes, there were %v", f.WorkerIndex(), i, w, want)
		}
	}
	if err := session.Close(ctx); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}
