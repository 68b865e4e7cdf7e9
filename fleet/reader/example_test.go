package reader_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/reader"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// A process outside a job reads from its servers, here of one that has made 3 steps, each of which adds 1 to the numbers of 5 rows.
func Example() {
	network := &transport.Memory{ReadToken: "for readers alone"} // on machines it is FLEET_READ_TOKEN, of servers and readers
	ctx := context.Background()
	err := job(ctx, network, func() error {
		r, err := reader.Open(ctx, reader.Options{
			Servers:   []string{"server:1"},
			Token:     "for readers alone",
			Transport: network,
			Params:    []reader.Param{{Name: "rows", Dim: 2}}, // of another shape nothing is read
		})
		if err != nil {
			return err
		}
		defer r.Close()

		rows, err := r.Rows(ctx, "rows", []uint64{1 << 32, 7})
		if err != nil {
			return err
		}
		fmt.Println(rows.W[:2], rows.Has, "update", rows.Moments[0].Update)

		n := 0
		err = r.Each(ctx, "rows", func(p reader.Page) error {
			n += len(p.IDs)
			return nil
		})
		fmt.Println(n, "rows")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// [3 3] [true false] update 3
	// 5 rows
}

// job trains three steps with a server and a worker, and waits for the reader.
func job(ctx context.Context, network transport.Transport, read func() error) error {
	var roles sync.WaitGroup
	defer roles.Wait()
	role := func(r rolemaker.Role) error {
		f, err := fleet.New(ctx, rolemaker.UserDefined{Role: r, WorkerNum: 1, ServerEndpoints: []string{"server:1"}}, fleet.Options{Transport: network})
		if err != nil {
			return err
		}
		return trial.Counters(5, strategy.Sync(), func(ctx context.Context, _ *fleet.Fleet, c *trial.Counter) error {
			if err := c.Train(ctx, 3); err != nil {
				return err
			}
			return read()
		})(ctx, f)
	}
	roles.Go(func() {
		if err := role(rolemaker.Server); err != nil {
			log.Print(err)
		}
	})
	return role(rolemaker.Worker)
}
