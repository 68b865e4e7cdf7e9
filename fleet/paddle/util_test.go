package paddle_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/paddle"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
)

func TestGetFileShard(t *testing.T) {
	files := []string{"a", "b", "c", "d", "e"}
	for _, c := range []struct {
		files   int
		workers int
		want    []string
	}{
		{5, 2, []string{"abc", "de"}}, {2, 3, []string{"a", "b", ""}}, {0, 1, []string{""}}, {5, 5, []string{"a", "b", "c", "d", "e"}},
	} {
		for i, want := range c.want {
			u := util(t, rolemaker.UserDefined{CurrentID: i, WorkerNum: c.workers, ServerEndpoints: []string{"a:1"}})
			got, err := u.GetFileShard(files[:c.files])
			if err != nil || strings.Join(got, "") != want {
				t.Errorf("%d files, worker %d of %d: %v, error %v, want %s", c.files, i, c.workers, got, err, want)
			}
		}
	}
	server := util(t, rolemaker.UserDefined{Role: rolemaker.Server, WorkerNum: 1, ServerEndpoints: []string{"a:1"}})
	if _, err := server.GetFileShard(files); !errors.Is(err, fleet.ErrRole) {
		t.Errorf("a server's files: %v", err)
	}
}

// util is the util of a process in a role.
func util(t *testing.T, rm rolemaker.RoleMaker) paddle.UtilBase {
	t.Helper()
	f, err := fleet.New(t.Context(), rm, fleet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return paddle.UtilBase{Fleet: f}
}

// TestCollectivesOfUtil: a worker's util makes its fleet's collectives.
func TestCollectivesOfUtil(t *testing.T) {
	fleettest.Run(t, 1, 2, func(ctx context.Context, f *fleet.Fleet) error {
		g := nn.NewGraph(1)
		opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, strategy.Sync())
		if err != nil {
			return err
		}
		if err := opt.Minimize(nn.Mean(nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{}))); err != nil {
			return err
		}
		if f.IsServer() {
			return errors.Join(f.InitServer(ctx, ""), f.RunServer(ctx))
		}
		if err := f.InitWorker(ctx); err != nil {
			return err
		}
		u := paddle.UtilBase{Fleet: f}
		sum, err := u.AllReduce(ctx, []float64{float64(1 + f.WorkerIndex())}, fleet.Sum)
		if err != nil || sum[0] != 3 {
			t.Errorf("the sum is %v, error %v", sum, err)
		}
		all, err := u.AllGather(ctx, []float64{float64(f.WorkerIndex())})
		if err != nil || fmt.Sprint(all) != "[[0] [1]]" {
			t.Errorf("all have %v, error %v", all, err)
		}
		if err := u.Barrier(ctx); err != nil {
			return err
		}
		return f.StopWorker(ctx)
	})
}

// Worker 0 of a job, and a process alone, prints.
func ExampleUtilBase_PrintOnRank() {
	if _, err := fleet.Init(rolemaker.Local{}); err != nil {
		log.Fatal(err)
	}
	paddle.Util().PrintOnRank("on 0", 0)
	paddle.Util().PrintOnRank("on 1", 1)
	// Output: on 0
}
