package fleet_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"sync"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// The program says itself who it is. Five roles run here, as goroutines on a network in memory, and worker 0 prints; as five
// processes they would give no Transport and meet at these addresses.
func Example_userDefined() {
	options := fleet.Options{Transport: transport.NewMemory(), Logger: slog.New(slog.DiscardHandler)}
	var roles sync.WaitGroup
	start := func(id int, role rolemaker.Role, out io.Writer) {
		roles.Go(func() {
			if err := userDefined(context.Background(), id, role, options, out); err != nil {
				log.Fatal(err)
			}
		})
	}
	start(0, rolemaker.Server, io.Discard)
	start(1, rolemaker.Server, io.Discard)
	start(0, rolemaker.Worker, os.Stdout)
	start(1, rolemaker.Worker, io.Discard)
	start(2, rolemaker.Worker, io.Discard)
	roles.Wait()
	// Output:
	// Pass 0, cost = [0.799], auc = [0.621], batch_auc = [0.621]
	// Pass 1, cost = [0.790], auc = [0.650], batch_auc = [0.643]
	// Pass 2, cost = [0.782], auc = [0.656], batch_auc = [0.650]
	// Pass 3, cost = [0.775], auc = [0.658], batch_auc = [0.661]
	// Pass 4, cost = [0.769], auc = [0.658], batch_auc = [0.682]
	// Pass 5, cost = [0.762], auc = [0.659], batch_auc = [0.725]
	// Pass 6, cost = [0.756], auc = [0.659], batch_auc = [0.736]
	// Pass 7, cost = [0.750], auc = [0.660], batch_auc = [0.743]
	// Pass 8, cost = [0.744], auc = [0.660], batch_auc = [0.746]
	// Pass 9, cost = [0.738], auc = [0.660], batch_auc = [0.757]
}

func userDefined(ctx context.Context, id int, role rolemaker.Role, options fleet.Options, out io.Writer) error {
	f, err := fleet.New(ctx, rolemaker.UserDefined{
		CurrentID:       id,
		Role:            role,
		WorkerNum:       3,
		ServerEndpoints: []string{"127.0.0.1:6001", "127.0.0.1:6002"},
	}, options)
	if err != nil {
		return err
	}
	s := strategy.Sync()       // sync_mode
	s.Placement = "RoundRobin" // split_method: this is the default, HashName the other
	s.NoSlice = false          // slice_var_up: variables of 8192 elements and more are cut

	net := widedeep.New(small())
	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 0.001}, s)
	if err != nil {
		return err
	}
	if err := opt.Minimize(net.Loss); err != nil {
		return err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	exe := nn.NewExecutor(net.Graph)
	for pass := range 10 {
		for batch, err := range fakeReader(id).Batches(24) {
			if err != nil {
				return err
			}
			v, err := exe.Train(ctx, batch, net.Loss, net.AUC, net.BatchAUC)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "Pass %d, cost = %.3f, auc = %.3f, batch_auc = %.3f\n", pass, v[0], v[1], v[2])
		}
	}
	return f.StopWorker(ctx)
}

// fakeReader makes a worker's rows: the first number decides.
func fakeReader(worker int) *dataset.Dataset {
	return dataset.Generate(24, func(i int, row dataset.Row) error {
		n := 3*i + worker
		for k := range row.Floats(0) {
			row.Floats(0)[k] = float32(n*(k+1)%7) / 7
		}
		for k := range row.Ints(1) {
			row.Ints(1)[k] = int64(26*(n%5) + k)
		}
		if row.Floats(0)[0] > 0.5 {
			row.Floats(2)[0] = 1
		}
		return nil
	}, dataset.Floats("dense_input", 13), dataset.Ints("C", 26), dataset.Floats("label"))
}
