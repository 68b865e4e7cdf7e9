package optimizer

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
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
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// goldenRule is the rule of a case, nil when there is no such rule.
func goldenRule(c goldenCase) Rule {
	lr, eps := c.number("learning_rate", 0), c.number("epsilon", 0)
	switch c.Name {
	case "sgd":
		return SGD{LR: lr}
	case "momentum":
		return Momentum{LR: lr, Momentum: c.number("momentum", 0), Nesterov: c.flag("use_nesterov")}
	case "adam":
		return Adam{LR: lr, Beta1: c.number("beta1", 0), Beta2: c.number("beta2", 0), Epsilon: eps}
	case "adamw":
		return AdamW{LR: lr, WeightDecay: c.number("weight_decay", 0)}
	case "adamax":
		return Adamax{LR: lr}
	case "adagrad":
		return Adagrad{LR: lr, Epsilon: eps, InitialAccumulator: c.number("initial_accumulator_value", 0)}
	case "decayed_adagrad":
		return DecayedAdagrad{LR: lr, Decay: c.number("decay", 0), Epsilon: eps}
	case "adadelta":
		return Adadelta{LR: lr, Rho: c.number("rho", 0), Epsilon: eps}
	case "rmsprop":
		return RMSProp{LR: lr, Rho: c.number("rho", 0), Epsilon: eps, Momentum: c.number("momentum", 0), Centered: c.flag("centered")}
	case "sgd+l1", "sgd+l2":
		return Decay{Rule: SGD{LR: lr}, L1: c.number("l1", 0), L2: c.number("l2", 0)}
	case "adam+l2":
		return Decay{Rule: Adam{LR: lr}, L2: c.number("l2", 0)}
	case "sgd+clip_by_value":
		return ClipByValue{Rule: SGD{LR: lr}, Min: c.number("min", 0), Max: c.number("max", 0)}
	case "sgd+clip_by_norm":
		return ClipByNorm{Rule: SGD{LR: lr}, Norm: c.number("clip_norm", 0)}
	case "sgd+clip_by_global_norm":
		return ClipByGlobalNorm{Rule: SGD{LR: lr}, Norm: c.number("clip_norm", 0)}
	case "lamb":
		return Lamb{LR: lr, WeightDecay: c.number("lamb_weight_decay", 0)}
	case "ftrl":
		return Ftrl{LR: lr, L1: c.number("l1", 0), L2: c.number("l2", 0), Power: c.number("lr_power", 0)}
	}
	return nil
}

func TestGoldenRules(t *testing.T) {
	var g golden
	readGolden(t, "optimizers.json", &g)
	for _, c := range g.Cases {
		t.Run(c.Name, func(t *testing.T) {
			rule := goldenRule(c)
			if err := CheckRule(rule); err != nil {
				t.Fatal(err)
			}
			testGoldenCase(t, g, c, rule)
		})
	}
	if len(g.Cases) < 23 {
		t.Errorf("only %d cases were found", len(g.Cases))
	}
}

func testGoldenCase(t *testing.T, g golden, c goldenCase, rule Rule) {
	w := append([]float32(nil), g.W0...)
	state := make([]float32, rule.StateLen(len(w)))
	InitState(rule, state)
	s := &State{}
	for k, want := range c.W {
		s.Step++
		p := &Param{Name: "w", Shape: []int{len(w)}, W: w, G: append([]float32(nil), g.Grads[k]...)}
		ClipGradients(rule, []*Param{p}, nil)
		RuleFor(rule, p).Update(w, p.G, state, s)
		for i := range w {
			if d := math.Abs(float64(w[i]) - want[i]); !(d <= 1e-5*math.Abs(want[i])+1e-6) {
				t.Fatalf("%+v, step %d: w[%d] = %v, want %v", rule, s.Step, i, w[i], want[i])
			}
		}
	}
}
