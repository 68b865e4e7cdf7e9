package fleet_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
	"github.com/gofleet/gofleet/strategy"
)

// TestEveryOptionOfAnEmbeddingActs: each field of nn.EmbeddingOptions, alone, changes what servers keep of a table.
//
// Promise: [G10] every option of params, embeddings, Shrink, fleets and clusters in tests acts
// Also: TestEveryParamFieldActs, TestEveryShrinkOptionActs, TestEveryFleetOptionActs, TestEveryClusterFieldActs
func TestEveryOptionOfAnEmbeddingActs(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	counts := optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 3}}
	acts := map[string]bool{}
	for _, o := range []struct{ from, to nn.EmbeddingOptions }{
		{nn.EmbeddingOptions{Dim: 2}, nn.EmbeddingOptions{Name: "t", Height: 20_000, Dim: 3, PaddingIdx: new(int64(1)), Init: optimizer.Constant{Value: 0.5},
			Entry: optimizer.Entry{CountFilter: 3}, MaxBytes: 1 << 17}},
		{nn.EmbeddingOptions{Dim: 2, Entry: counts}, nn.EmbeddingOptions{Dim: 2, Entry: counts, Show: &nn.Node{}, Click: &nn.Node{}}},
		{nn.EmbeddingOptions{Dim: 2, MaxBytes: 1 << 17}, nn.EmbeddingOptions{Dim: 2, MaxBytes: 1 << 17, Evict: optimizer.Evict{By: optimizer.EvictUnused}}},
	} {
		before := kept(t, o.from)
		from, to := reflect.ValueOf(o.from), reflect.ValueOf(o.to)
		for i := range from.NumField() {
			if from.Field(i).Equal(to.Field(i)) {
				continue
			}
			changed := o.from
			reflect.ValueOf(&changed).Elem().Field(i).Set(to.Field(i))
			name := from.Type().Field(i).Name
			if after := kept(t, changed); after == before {
				t.Errorf("%s of %v does the same: %.200s", name, to.Field(i), after)
			}
			acts[name] = true
		}
	}
	for f := range reflect.TypeFor[nn.EmbeddingOptions]().Fields() {
		if !acts[f.Name] {
			t.Errorf("%s has no case", f.Name)
		}
	}
}

// kept is what two servers have of a table after two workers made two steps each, row by row.
func kept(t *testing.T, o nn.EmbeddingOptions) (rows string) {
	synctest.Test(t, func(t *testing.T) { rows = keptNow(t, o) })
	return rows
}

func keptNow(t *testing.T, o nn.EmbeddingOptions) string {
	var rows strings.Builder
	errs := trial.Cluster(2, 2).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		g, o := nn.NewGraph(1), o
		if o.Show != nil {
			o.Show = g.Input("show", 1)
		}
		if o.Click != nil {
			o.Click = g.Input("click", 1)
		}
		y := nn.Embedding(g.IDs("id", 4000), o)
		ids := make([]int64, 12_000) // as many as the bound has no room for
		for i := range ids {
			ids[i] = int64(i)
		}
		feed := map[string]*gorgonia.Dense{
			"id":    gorgonia.New(gorgonia.WithShape(3, 4000), gorgonia.WithBacking(ids)),
			"show":  gorgonia.New(gorgonia.WithShape(3, 1), gorgonia.WithBacking([]float32{90, 1, 1})),
			"click": gorgonia.New(gorgonia.WithShape(3, 1), gorgonia.WithBacking([]float32{1, 1, 0})),
		}
		loss := nn.Mean(nn.Multiply(y, y))
		return trial.PlayGraph(ctx, f, loss, optimizer.SGD{LR: 0.1}, strategy.Sync(), func(exe *nn.Executor) error {
			for range 2 {
				if _, err := exe.Train(ctx, feed); err != nil {
					return err
				}
			}
			if err := f.BarrierWorker(ctx); err != nil || !f.IsFirstWorker() {
				return err
			}
			name := loss.Params()[0].Name
			time.Sleep(10 * time.Second) // heartbeats ask for room
			fmt.Fprintln(&rows, name, loss.Params()[0].Shape)
			return weights.WriteText(&rows, f.Rows(ctx, name))
		})
	})
	for role, err := range errs {
		if err != nil {
			t.Errorf("%+v: %s: %v", o, role, err)
		}
	}
	return rows.String()
}
