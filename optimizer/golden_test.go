package optimizer_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

// golden is testdata/optimizers.json: weights after each of six updates, as the original computes them.
type golden struct {
	W0    []float32   `json:"w0"`
	Grads [][]float32 `json:"grads"`
	Cases []goldenCase
}

type goldenCase struct {
	Name  string
	Hyper map[string]any
	W     [][]float64
}

func (c goldenCase) number(name string, def float64) float64 {
	if v, ok := c.Hyper[name].(float64); ok {
		return v
	}
	return def
}

func (c goldenCase) flag(name string) bool { return c.Hyper[name] == true }

func readGolden(t *testing.T, name string, into any) {
	t.Helper()
	dir := os.Getenv("GOLDEN_DIR")
	if dir == "" {
		dir = "testdata"
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if strings.HasPrefix(name, "more_") && errors.Is(err, fs.ErrNotExist) { // written for this package alone
		data, err = os.ReadFile(filepath.Join("testdata", name))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// goldenRule is the rule of a case, nil when there is no such rule.
func goldenRule(c goldenCase) optimizer.Rule {
	lr, eps := c.number("learning_rate", 0), c.number("epsilon", 0)
	switch c.Name {
	case "sgd":
		return optimizer.SGD{LR: lr}
	case "momentum":
		return optimizer.Momentum{LR: lr, Momentum: c.number("momentum", 0), Nesterov: c.flag("use_nesterov")}
	case "adam":
		return optimizer.Adam{LR: lr, Beta1: c.number("beta1", 0), Beta2: c.number("beta2", 0), Epsilon: eps}
	case "adamw":
		return optimizer.AdamW{LR: lr, Beta1: c.number("beta1", 0), Beta2: c.number("beta2", 0), Epsilon: eps, WeightDecay: c.number("weight_decay", 0)}
	case "adamax":
		return optimizer.Adamax{LR: lr, Beta1: c.number("beta1", 0), Beta2: c.number("beta2", 0), Epsilon: eps}
	case "adagrad":
		return optimizer.Adagrad{LR: lr, Epsilon: eps, InitialAccumulator: c.number("initial_accumulator_value", 0)}
	case "decayed_adagrad":
		return optimizer.DecayedAdagrad{LR: lr, Decay: c.number("decay", 0), Epsilon: eps}
	case "adadelta":
		return optimizer.Adadelta{LR: lr, Rho: c.number("rho", 0), Epsilon: eps}
	case "rmsprop":
		return optimizer.RMSProp{LR: lr, Rho: c.number("rho", 0), Epsilon: eps, Momentum: c.number("momentum", 0), Centered: c.flag("centered")}
	case "sgd+l1", "sgd+l2":
		return optimizer.Decay{Rule: optimizer.SGD{LR: lr}, L1: c.number("l1", 0), L2: c.number("l2", 0)}
	case "adam+l2":
		return optimizer.Decay{Rule: optimizer.Adam{LR: lr}, L2: c.number("l2", 0)}
	case "sgd+clip_by_value":
		return optimizer.ClipByValue{Rule: optimizer.SGD{LR: lr}, Min: c.number("min", 0), Max: c.number("max", 0)}
	case "sgd+clip_by_norm":
		return optimizer.ClipByNorm{Rule: optimizer.SGD{LR: lr}, Norm: c.number("clip_norm", 0)}
	case "sgd+clip_by_global_norm":
		return optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: lr}, Norm: c.number("clip_norm", 0)}
	case "lamb":
		r := optimizer.Lamb{LR: lr, WeightDecay: cmp.Or(c.number("lamb_weight_decay", 0), -1)}
		r.Beta1, r.Beta2, r.Epsilon = c.number("beta1", 0.9), c.number("beta2", 0.999), c.number("epsilon", 1e-6)
		r.AlwaysAdapt = c.flag("always_adapt")
		return r
	case "lars_momentum":
		return optimizer.Lars{LR: lr, Momentum: c.number("mu", 0), Coeff: c.number("lars_coeff", 0), WeightDecay: c.number("lars_weight_decay", 0), Epsilon: eps}
	case "dpsgd":
		return optimizer.DPSGD{LR: lr, Clip: c.number("clip", 0), BatchSize: c.number("batch_size", 0), Sigma: c.number("sigma", 0)}
	case "momentum+own_l2": // the original's parameter says so itself, and wins over what is said for all
		all := optimizer.Momentum{LR: lr, Momentum: c.number("momentum", 0)}
		return optimizer.PerParam{Rule: optimizer.Decay{Rule: all, L2: 0.5}, By: map[string]optimizer.Rule{"w": optimizer.Decay{Rule: all, L2: c.number("l2", 0)}}}
	case "sgd+own_rate":
		return optimizer.PerParam{Rule: optimizer.SGD{LR: lr}, By: map[string]optimizer.Rule{"w": optimizer.SGD{LR: lr * c.number("factor", 0)}}}
	case "ftrl":
		return optimizer.Ftrl{LR: lr, L1: c.number("l1", 0), L2: c.number("l2", 0), Power: c.number("lr_power", 0)}
	}
	return nil
}

// TestGoldenRules: more_optimizers.json has rules that optimizers.json leaves out, other settings, and what a parameter says itself.
func TestGoldenRules(t *testing.T) {
	for file, cases := range map[string]int{"optimizers.json": 23, "more_optimizers.json": 13} {
		var g golden
		readGolden(t, file, &g)
		for _, c := range g.Cases {
			t.Run(c.Name, func(t *testing.T) {
				rule := goldenRule(c)
				if err := optimizer.CheckRule(rule); err != nil {
					t.Fatal(err)
				}
				testGoldenCase(t, g, c, rule)
			})
		}
		if len(g.Cases) < cases {
			t.Errorf("%s has %d cases, there are %d", file, len(g.Cases), cases)
		}
	}
}

func testGoldenCase(t *testing.T, g golden, c goldenCase, rule optimizer.Rule) {
	w := append([]float32(nil), g.W0...)
	state := make([]float32, rule.StateLen(len(w)))
	rules.InitState(rule, state)
	s := &optimizer.State{}
	for k, want := range c.W {
		s.Step++
		p := &optimizer.Param{Name: "w", Shape: []int{len(w)}, W: w, G: append([]float32(nil), g.Grads[k]...)}
		rules.ClipGradients(rule, []*optimizer.Param{p}, nil)
		rules.For(rule, p).Update(w, p.G, state, s)
		for i := range w {
			if d := math.Abs(float64(w[i]) - want[i]); !(d <= 1e-5*math.Abs(want[i])+1e-6) {
				t.Fatalf("%+v, step %d: w[%d] = %v, want %v", rule, s.Step, i, w[i], want[i])
			}
		}
	}
}
