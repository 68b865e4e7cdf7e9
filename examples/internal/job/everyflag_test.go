package job

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/examples/internal/job/jobtest"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// learnt is what can be seen of a program that was run with some flags.
type learnt struct {
	strategy strategy.Strategy
	rule     optimizer.Rule
	result   nn.TrainResult
	said     string
}

// learn runs a program on one process.
func learn(t *testing.T, args ...string) (l learnt) {
	t.Helper()
	l.result, l.said = jobtest.Run(t, 0, 0, args, flags, func(ctx context.Context, f *fleet.Fleet, c Flags, out io.Writer) (last nn.TrainResult, err error) {
		if l.strategy, err = c.Strategy(); err != nil {
			return last, err
		}
		l.rule = c.Rule(0.1, 0.1)
		net := newLine()
		err = Training{Loss: net.loss, Rule: l.rule, Strategy: l.strategy, Load: c.Load}.Play(ctx, f, func(ctx context.Context) error {
			last, err = Epochs(ctx, f, net.graph, c, func(int) *dataset.Dataset { return points(100) }, out, net.loss)
			if err != nil {
				return err
			}
			return Save(ctx, f, c.Out, out, net.y)
		})
		return last, err
	})
	return l
}

// TestEveryFlagActs holds each flag that all examples have to a difference it makes to a program. A new flag has none, and fails.
func TestEveryFlagActs(t *testing.T) {
	plain, dir := learn(t), t.TempDir()
	again := learn(t)
	if plain.result.Loss != again.result.Loss {
		t.Fatalf("the program comes to a loss of %v, then of %v", plain.result.Loss, again.result.Loss)
	}
	effects := []struct {
		args, name string
		acts       func(l learnt) bool
	}{
		{"-mode=ssp", "mode", func(l learnt) bool { return l.strategy.Mode == strategy.ModeSSP }},
		{"-mode=geo -k_steps=7", "k_steps", func(l learnt) bool { return l.strategy.KSteps == 7 }},
		{`-strategy={"staleness":3,"mode":"ssp"}`, "strategy", func(l learnt) bool {
			return l.strategy == strategy.Strategy{Mode: "ssp", Staleness: 3, Placement: "RoundRobin", Codec: "none", Payload: "float32"}
		}},
		{"-placement=Balanced", "placement", func(l learnt) bool { return l.strategy.Placement == "Balanced" }},
		{"-codec=s2", "codec", func(l learnt) bool { return l.strategy.Codec == "s2" }},
		{"-payload=int8", "payload", func(l learnt) bool { return l.strategy.Payload == strategy.PayloadInt8 }},
		{"-seed=9", "seed", func(l learnt) bool { return l.result.Loss != plain.result.Loss && l.result.Steps == plain.result.Steps }},
		{"-epochs=3", "epochs", func(l learnt) bool { return strings.Contains(l.said, "epoch 3/3") && l.result.Loss < plain.result.Loss }},
		{"-threads=2", "threads", func(l learnt) bool { return l.result.Steps == 14 && l.result.Samples == 100 }}, // two shards of 50 in batches of 8
		{"-batch=20", "batch", func(l learnt) bool { return l.result.Steps == 5 && plain.result.Steps == 13 }},
		{"-lr=0.001", "lr", func(l learnt) bool { return l.rule == optimizer.Adam{LR: 0.001} && l.result.Loss > plain.result.Loss }},
		{"-out=" + dir, "out", func(l learnt) bool {
			_, err := os.Stat(filepath.Join(dir, "checkpoint", "manifest.json"))
			return err == nil && strings.Contains(l.said, dir)
		}},
		{"-load=" + dir + "/checkpoint", "load", func(l learnt) bool { return l.result.Loss < plain.result.Loss/2 }},
		{"-checkpoint=" + dir + "/ckpt", "checkpoint", func(l learnt) bool {
			latest, err := fleet.Latest(dir + "/ckpt")
			return err == nil && latest.Progress.Epoch == 1 && l.strategy.Recovery.Every == strategy.Duration(time.Minute)
		}},
		{"-checkpoint=" + dir + "/ckpt -checkpoint_every=5m -epochs=2", "checkpoint_every", func(l learnt) bool {
			return strings.Contains(l.said, "goes on after epoch 1/2") && l.strategy.Recovery.Every == strategy.Duration(5*time.Minute)
		}},
		{"-checkpoint=" + dir + "/ckpt -journal=" + dir + "/journal", "journal", func(l learnt) bool {
			return l.strategy.Recovery.Journal == strategy.JournalProcess && l.strategy.Recovery.JournalDir == dir+"/journal"
		}},
	}
	shown := map[string]bool{}
	for _, e := range effects {
		shown[e.name] = true
		if l := learn(t, strings.Fields(e.args)...); !e.acts(l) {
			t.Errorf("%s does nothing: %s", e.args, fmt.Sprintf("%+v", l))
		}
	}
	var c Flags
	c.Register(flag.NewFlagSet("all", flag.ContinueOnError))
	c.fs.VisitAll(func(f *flag.Flag) {
		if !shown[f.Name] {
			t.Errorf("nothing shows what -%s does", f.Name)
		}
	})
}
