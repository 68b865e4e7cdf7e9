package fleet_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// WriteGraph makes the toy a model that can be saved.
func (o *toy) WriteGraph(w io.Writer) error { _, err := io.WriteString(w, "{}\n"); return err }

// run is how the toy is trained in a test of the laws.
type run struct {
	servers, workers int
	strategy         strategy.Strategy
	options          fleet.Options
	endpoints        []string
	steps            int // 0 means lawSteps
}

const lawSteps = 20

// weights trains the toy and returns the file that SaveInferenceModel writes: every weight of it, in an order that does not
// depend on the cluster.
func (r run) weights(t *testing.T, rule optimizer.Rule) []byte {
	t.Helper()
	dir := t.TempDir()
	c := fleettest.Cluster{Servers: r.servers, Workers: r.workers, Options: r.options, Endpoints: r.endpoints}
	c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		return train(ctx, f, rule, r.strategy, cmp.Or(r.steps, lawSteps), saveFirst(ctx, f, dir))
	})
	return read(t, filepath.Join(dir, "weights.safetensors"))
}

// saveFirst has worker 0 save the model when all workers have trained.
func saveFirst(ctx context.Context, f *fleet.Fleet, dir string) func(*toy) error {
	return func(o *toy) error {
		if err := f.BarrierWorker(ctx); err != nil || !f.IsFirstWorker() {
			return err
		}
		return f.SaveInferenceModel(ctx, dir, o)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func laws() map[string]optimizer.Rule {
	return map[string]optimizer.Rule{"SGD": optimizer.SGD{LR: 0.1}, "Adam": optimizer.Adam{LR: 0.01}, "Adagrad": optimizer.Adagrad{LR: 0.1}}
}

// TestSyncEqualsLocal holds sync mode to what it promises: three workers train as one process does on their joined batch.
func TestSyncEqualsLocal(t *testing.T) {
	for name, rule := range laws() {
		t.Run(name, func(t *testing.T) {
			alone := run{}.weights(t, rule)
			if slices.Equal(tensor[float32](t, alone, "w"), newToy().w.W) {
				t.Fatal("nothing was trained")
			}
			together := run{servers: 2, workers: 3, strategy: strategy.Sync()}.weights(t, rule)
			if far := distance(t, alone, together); far > 1e-5 {
				t.Errorf("three workers are %g away from one process after %d steps", far, lawSteps)
			}
			if far := distance(t, alone, run{strategy: strategy.Sync()}.weights(t, rule)); far != 0 {
				t.Errorf("one process differs from itself by %g", far)
			}
		})
	}
}

// TestSyncEqualsLocalUnderEveryRule is the same for every rule but DPSGD, whose noise is its own, after 100 steps, where single
// elements may differ more: sums round.
func TestSyncEqualsLocalUnderEveryRule(t *testing.T) {
	rules := everyRule()
	for name, rule := range laws() {
		rules[name] = rule
	}
	rules["DenseAdam"], rules["Centred"] = optimizer.Adam{LR: 0.01, Dense: true}, optimizer.RMSProp{LR: 0.001, Centered: true}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			steps := 100
			if name == "Lars" {
				steps = 20 // its rate jumps where a gradient is zero, and those of some later batches cancel, up to rounding
			}
			alone := run{steps: steps}.weights(t, rule)
			together := run{servers: 2, workers: 3, strategy: strategy.Sync(), steps: steps}.weights(t, rule)
			if far := apart(t, alone, together); !(far <= 1e-5) {
				t.Errorf("three workers are %g away from one process, as a part of the weights' norm", far)
			}
		})
	}
}

// distance is the largest difference between the numbers of two saved models, which must hold the same rows.
func distance(t *testing.T, a, b []byte) (far float64) {
	t.Helper()
	for _, name := range []string{"emb.ids", "open.ids"} {
		if !slices.Equal(tensor[uint64](t, a, name), tensor[uint64](t, b, name)) {
			t.Fatalf("%s differ", name)
		}
	}
	for _, name := range []string{"w", "b", "big", "emb", "open"} {
		x, y := tensor[float32](t, a, name), tensor[float32](t, b, name)
		if len(x) == 0 || len(x) != len(y) {
			t.Fatalf("%s: %d numbers and %d", name, len(x), len(y))
		}
		for i := range x {
			d := math.Abs(float64(x[i]) - float64(y[i]))
			if math.IsNaN(d) {
				t.Fatalf("%s[%d]: %g and %g", name, i, x[i], y[i])
			}
			far = max(far, d)
		}
	}
	return far
}

// tensor is one variable of a saved model.
func tensor[T float32 | uint64](t *testing.T, model []byte, name string) []T {
	t.Helper()
	all, err := tensorOf[T](model, name)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func tensorOf[T float32 | uint64](model []byte, name string) ([]T, error) {
	f, err := safetensors.Parse(model)
	if err != nil {
		return nil, err
	}
	return safetensors.Read[T](f, name)
}

// TestSyncIsOneTraining holds sync mode to one result, bit for bit, whatever carries the parameters and wherever they lie.
func TestSyncIsOneTraining(t *testing.T) {
	with := func(change func(*strategy.Strategy)) strategy.Strategy {
		s := strategy.Sync()
		change(&s)
		return s
	}
	runs := map[string]run{
		"again":       {servers: 2, workers: 3, strategy: strategy.Sync()},
		"one server":  {servers: 1, workers: 3, strategy: strategy.Sync()},
		"more":        {servers: 3, workers: 3, strategy: strategy.Sync()},
		"not sliced":  {servers: 2, workers: 3, strategy: with(func(s *strategy.Strategy) { s.NoSlice = true })},
		"fine slices": {servers: 3, workers: 3, strategy: with(func(s *strategy.Strategy) { s.SmallBlocks, s.MinBlockSize = true, 4 })},
		"by name":     {servers: 2, workers: 3, strategy: with(func(s *strategy.Strategy) { s.Placement = "HashName" })},
		"balanced":    {servers: 3, workers: 3, strategy: with(func(s *strategy.Strategy) { s.Placement, s.NoSlice = "Balanced", true })},
		"zstd":        {servers: 2, workers: 3, strategy: with(func(s *strategy.Strategy) { s.Codec = "zstd" })},
		"in pieces":   {servers: 2, workers: 3, strategy: with(func(s *strategy.Strategy) { s.MaxFrame = 4096 })},
		"FastHTTP": {servers: 2, workers: 3, strategy: strategy.Sync(), endpoints: freePorts(t, 2),
			options: fleet.Options{Transport: &transport.FastHTTP{}}},
	}
	rule := optimizer.Adam{LR: 0.01}
	want := run{servers: 2, workers: 3, strategy: strategy.Sync()}.weights(t, rule)
	for name, r := range runs {
		t.Run(name, func(t *testing.T) {
			got := r.weights(t, rule)
			if !bytes.Equal(want, got) {
				t.Errorf("weights differ by up to %g", distance(t, want, got))
			}
		})
	}
}

// freePorts are loopback endpoints that nobody listened on a moment ago.
func freePorts(t testing.TB, n int) (endpoints []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		endpoints = append(endpoints, l.Addr().String())
	}
	return endpoints
}

// TestUnevenWorkers has workers with different numbers of batches end an epoch, meet, and train on.
func TestUnevenWorkers(t *testing.T) {
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			fleettest.Run(t, 2, 3, func(ctx context.Context, f *fleet.Fleet) error {
				return train(ctx, f, optimizer.SGD{LR: 0.01}, s, 2, func(o *toy) error { return uneven(ctx, f, o) })
			})
		})
	}
}

// uneven trains two epochs of which worker i has 2i batches more than worker 0.
func uneven(ctx context.Context, f *fleet.Fleet, o *toy) error {
	for range 2 {
		o.session = nil
		for i := range 1 + 2*f.WorkerIndex() {
			if err := o.train(ctx, samples(8, i), nil); err != nil {
				return err
			}
		}
		if err := o.session.Close(ctx); err != nil {
			return err
		}
		if err := o.trainer.EndEpoch(ctx); err != nil {
			return err
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
	}
	return nil
}
