package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/examples/ctr_dnn/clicks"
	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn/serve"
)

func trained(t *testing.T, servers, workers int, program jobtest.Program, args ...string) (auc float64, said string) {
	t.Helper()
	res, said := jobtest.Run(t, servers, workers, program, args...)
	return res.Last.Values["test AUC"], said
}

// TestClicks trains on generated clicks, alone and in every mode on 2 servers and 2 workers.
func TestClicks(t *testing.T) {
	law.Slow(t)
	const rows = "-rows=45000"
	shared := jobtest.Sharing(t, program, rows)
	check := func(name string, servers, workers int, args ...string) {
		t.Run(name, func(t *testing.T) {
			auc, said := trained(t, servers, workers, shared, append(args, rows, "-out=")...)
			if auc < 0.65 || auc > 0.81 || !strings.Contains(said, "no model can do better than 0.8") {
				t.Errorf("test AUC %.4f; worker 0 said\n%s", auc, said)
			}
		})
	}
	kinds := jobtest.InEachMode(nil, []string{"-batch=128"}, "-k_steps=10", "-epochs=9")
	for _, k := range law.Some(t, append(kinds, jobtest.Kind{Name: "sqrtn", Servers: 1, Workers: 3, Args: []string{"-pool=sqrtn", "-batch=64"}})) {
		check(k.Name, k.Servers, k.Workers, k.Args...)
	}
}

// TestCriteoSlots trains on Criteo's sample, 80 rows, and the saved model has what it should.
func TestCriteoSlots(t *testing.T) {
	law.Slow(t)
	dir := t.TempDir()
	_, said := trained(t, 1, 2, program, "-data=../../dataset/testdata/criteo_sample_80.slots.txt", "-pool=sum", "-batch=8", "-out="+dir)
	if !strings.Contains(said, "test AUC ") || strings.Contains(said, "no model") {
		t.Errorf("worker 0 said\n%s", said)
	}
	m, err := serve.Load(filepath.Join(dir, "model"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Graph.Inputs()); n != 27 {
		t.Errorf("the model is fed %d inputs, want 26 slots and the numbers", n)
	}
}

func TestBadFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"-rows=1": {"-rows=1"},
		"-dim=0":  {"-dim=0"},
		"median":  {"-pool=median"},
		"often":   {"-mode=often"},
	} {
		if _, err := jobtest.Job(program, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", args, err, want)
		}
	}
}

// TestBestAUC: the chances of many rows have an AUC that does not depend on who trains.
func TestBestAUC(t *testing.T) {
	law.Slow(t)
	best, err := bestAUC(clicks.Generate(1, 50_000))
	if err != nil || math.Abs(best-0.807) > 0.01 {
		t.Errorf("the best AUC is %.4f, error %v", best, err)
	}
}
