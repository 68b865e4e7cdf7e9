package main

import (
	"testing"

	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/internal/law"
)

// TestHoursAreOrdered: in every way of training a model orders flights of days that it has not seen far better than chance, and alone by
// LambdaRank no worse than by each flight's own label. A random order has 0.45 there.
func TestHoursAreOrdered(t *testing.T) {
	law.Slow(t)
	ndcg := func(k jobtest.Kind, args ...string) float64 {
		res, _ := jobtest.Run(t, k.Servers, k.Workers, program, append(append(k.Args, "-days=60", "-epochs=2", "-out="), args...)...)
		return res.Last.Values["test group_ndcg"]
	}
	for _, k := range jobtest.Kinds(t, 128) {
		t.Run(k.Name, func(t *testing.T) {
			if got := ndcg(k); got < 0.5 {
				t.Errorf("NDCG@10 of test days is %.4f", got)
			}
		})
	}
	alone := jobtest.Kind{Name: "local", Workers: 1}
	if by, pointwise := ndcg(alone), ndcg(alone, "-loss=pointwise"); by < pointwise-0.005 {
		t.Errorf("LambdaRank has an NDCG@10 of %.4f, labels alone %.4f", by, pointwise)
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-days=4"}, {"-days=366"}, {"-loss=listwise"}, {"-mode=often"}} {
		if _, err := jobtest.Job(program, args...); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
