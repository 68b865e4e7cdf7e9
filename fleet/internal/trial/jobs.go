package trial

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Job is a cluster and its strategy.
type Job struct {
	Cluster  fleettest.Cluster
	Strategy strategy.Strategy
}

// Jobs returns one job of every kind, by name.
func Jobs(t testing.TB) map[string]Job {
	t.Helper()
	all := map[string]Job{"alone": {Cluster(0, 1), strategy.Sync()}, "collective": {Cluster(0, 2), strategy.Sync()}}
	for _, mode := range strategy.Modes() {
		s, err := strategy.Named(string(mode))
		if err != nil {
			t.Fatal(err)
		}
		all[string(mode)] = Job{Cluster(2, 2), s}
	}
	return all
}

// Sizes returns a process alone, a job with servers and one without, by name.
func Sizes() map[string]fleettest.Cluster {
	return map[string]fleettest.Cluster{"alone": Cluster(0, 1), "with servers": Cluster(2, 1),
		"collective": Cluster(0, 2)}
}

// Rules returns the three most usual rules.
func Rules() map[string]optimizer.Rule {
	return map[string]optimizer.Rule{"SGD": optimizer.SGD{LR: 0.1}, "Adam": optimizer.Adam{LR: 0.01},
		"Adagrad": optimizer.Adagrad{LR: 0.1}}
}

// OtherRules returns the rules that Rules leaves out, except DPSGD, whose noise differs from run to run.
func OtherRules() map[string]optimizer.Rule {
	return map[string]optimizer.Rule{
		"Momentum": optimizer.Momentum{LR: 0.01, Nesterov: true}, "AdamW": optimizer.AdamW{LR: 0.01},
		"Adamax":         optimizer.Adamax{LR: 0.01},
		"DecayedAdagrad": optimizer.DecayedAdagrad{LR: 0.01}, "Adadelta": optimizer.Adadelta{LR: 1},
		"RMSProp": optimizer.RMSProp{LR: 0.001},
		"Ftrl":    optimizer.Ftrl{LR: 0.01}, "Lamb": optimizer.Lamb{LR: 0.01}, "Lars": optimizer.Lars{LR: 0.1},
	}
}

// Clips returns rules with limits below most of the toy's gradients: these are about 1.8 for big and 0.05 for b.
func Clips() map[string]optimizer.Rule {
	sgd := optimizer.SGD{LR: 0.1}
	others := optimizer.PerParam{Rule: optimizer.ClipByValue{Rule: sgd, Max: 0.001},
		By: map[string]optimizer.Rule{"emb": optimizer.SGD{LR: 0.5}}}
	return map[string]optimizer.Rule{
		"each":   optimizer.ClipByNorm{Rule: sgd, Norm: 0.02},
		"all":    optimizer.ClipByGlobalNorm{Rule: sgd, Norm: 0.05},
		"but":    optimizer.ClipByGlobalNorm{Rule: sgd, Norm: 0.05, Except: []string{"b", "emb"}},
		"around": optimizer.ClipByGlobalNorm{Rule: others, Norm: 0.05},
	}
}

// Refused fails the test unless every role of a cluster fails with the reason.
func Refused(t testing.TB, c fleettest.Cluster, says string, program fleettest.Program) {
	t.Helper()
	for role, err := range c.Errors(t, program) {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want %q", role, err, says)
		}
	}
}
