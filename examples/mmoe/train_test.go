package main

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/internal/law"
)

// TestBothTasks trains on generated rows, alone and on 2 servers and 2 workers.
func TestBothTasks(t *testing.T) {
	law.Slow(t)
	for _, k := range jobtest.Kinds(t, 128) {
		t.Run(k.Name, func(t *testing.T) {
			res, said := jobtest.Run(t, k.Servers, k.Workers, program, append(k.Args, "-rows=30000", "-out=")...)
			if auc := res.Last.Values["test AUC of likes"]; auc < 0.82 || auc > 0.89 || !strings.Contains(said, "no model can do better than 0.8") {
				t.Errorf("test AUC of likes %.4f; worker 0 said\n%s", auc, said)
			}
		})
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-rows=3"}, {"-dim=0"}, {"-mode=often"}} {
		if _, err := jobtest.Job(program, args...); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
