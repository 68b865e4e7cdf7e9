package train

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/transport"
)

// backwards is a program's own placement policy: from the last server to the first.
type backwards struct {
	mu      *sync.Mutex
	servers *[]int // of each call
}

func (backwards) Name() string { return "Backwards" }

func (b backwards) Place(blocks []placement.Block, servers int) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	*b.servers = append(*b.servers, servers)
	at := make([]int, len(blocks))
	for i := range at {
		at[i] = servers - 1 - i%servers
	}
	return at
}

// TestAProgramsOwnFleet: Main's roles, transport and placement policies are the program's where it has its own, also
// with -check and -eval.
func TestAProgramsOwnFleet(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var servers []int
	dir, network := t.TempDir(), transport.NewMemory()
	test := filepath.Join(dir, "test.csv")
	if err := os.WriteFile(test, []byte("x,y\n1,1\n-1,0\n2,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	play := func(out io.Writer, role rolemaker.RoleMaker, args ...string) error {
		o, err := parsed(append(args, "-mode=sync", "-placement=Backwards", "-out="+filepath.Join(dir, "out"))...)
		if err != nil {
			return err
		}
		o.Role, o.Fleet = role, fleet.Options{Transport: network, Placements: []placement.Policy{backwards{&mu, &servers}}}
		return start(&o, nil, func() (Job, error) {
			g := nn.NewGraph(1)
			x, y := g.Input("x", 1), g.Input("y", 1)
			n := nn.Linear(nn.Linear(x, 4, nn.LinearOptions{}), 1, nn.LinearOptions{})
			rows := dataset.FromColumns(dataset.FloatValues("x", []float32{1, -1, 2, -3}, 1), dataset.FloatValues("y", []float32{1, 0, 1, 0}, 1))
			return Job{Options: o, Stdout: out, Rule: optimizer.SGD{LR: 0.1}, Loss: nn.Mean(nn.BinaryCrossEntropyWithLogits(n, y)),
				Files: Files{Format: dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Floats("x")}, {Column: dataset.Floats("y")}}}},
				Data:  func(context.Context) (*dataset.Dataset, *dataset.Dataset, error) { return rows, rows, nil }}, nil
		})
	}
	var done sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		done.Go(func() {
			role := rolemaker.UserDefined{CurrentID: i % 2, Role: []rolemaker.Role{rolemaker.Server, rolemaker.Worker}[i/2], WorkerNum: 2,
				ServerEndpoints: []string{"a:1", "b:1"}}
			errs[i] = play(io.Discard, role)
		})
	}
	done.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("role %d: %v", i, err)
		}
	}
	if n := len(servers); n < 4 || slices.Max(servers) != 2 || slices.Min(servers) != 2 {
		t.Errorf("the policy was called for %v servers, want 2 in each of 4 roles", servers)
	}
	for _, args := range [][]string{{"-check"}, {"-eval=" + test, "-load=" + filepath.Join(dir, "out", "checkpoint")}} {
		var said bytes.Buffer
		if err := play(&said, nil, args...); err != nil {
			t.Errorf("%v: %v\n%s", args, err, &said)
		}
	}
	if err := func() error {
		o, err := parsed("-placement=Sideways")
		o.Role = rolemaker.Local{}
		if err == nil {
			err = start(&o, nil, func() (Job, error) {
				x := nn.NewGraph(1).Input("x", 1)
				return Job{Options: o, Stdout: io.Discard, Rule: optimizer.SGD{LR: 1}, Loss: nn.Mean(nn.Linear(x, 1, nn.LinearOptions{})),
					Data: func(context.Context) (*dataset.Dataset, *dataset.Dataset, error) {
						return dataset.FromColumns(dataset.FloatValues("x", []float32{1}, 1)), nil, nil
					}}, nil
			})
		}
		return err
	}(); err == nil || !strings.Contains(err.Error(), "Sideways") {
		t.Errorf("a policy that the program has not: %v", err)
	}
}
