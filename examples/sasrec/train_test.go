package main

import (
	"testing"

	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/examples/internal/retrievaltest"
	"github.com/gofleet/gofleet/internal/law"
)

// TestRecall trains on generated sequences, alone and on 2 servers and 2 workers.
func TestRecall(t *testing.T) {
	law.Slow(t)
	for _, k := range jobtest.Kinds(t, 64) {
		t.Run(k.Name, func(t *testing.T) {
			_, said := jobtest.Run(t, k.Servers, k.Workers, program, append(k.Args, "-rows=4000", "-epochs=3", "-lr=0.005", "-dim=16", "-out=")...)
			if recall := retrievaltest.Last(t, said); recall < 0.1 || recall > best() {
				t.Errorf("recall@10 %.4f; worker 0 said\n%s", recall, said)
			}
		})
	}
}

// TestSaved: what is saved finds the items that the job found: what users have seen by the model, items by their vectors.
func TestSaved(t *testing.T) { retrievaltest.Saved(t, program) }

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-rows=3"}, {"-dim=0"}, {"-mode=often"}} {
		if _, err := jobtest.Job(program, args...); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
