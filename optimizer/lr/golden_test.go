package lr

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

type goldenSchedule struct {
	Name  string
	Hyper map[string]any
	LR    []float64
}

func (c goldenSchedule) number(name string) float64 { v, _ := c.Hyper[name].(float64); return v }
func (c goldenSchedule) count(name string) int64    { return int64(c.number(name)) }

func (c goldenSchedule) numbers(name string) (all []float64) {
	for _, v := range c.Hyper[name].([]any) {
		all = append(all, v.(float64))
	}
	return all
}

func (c goldenSchedule) counts(name string) (all []int64) {
	for _, v := range c.numbers(name) {
		all = append(all, int64(v))
	}
	return all
}

func (c goldenSchedule) schedule() Schedule {
	lr, gamma := c.number("learning_rate"), c.number("gamma")
	switch c.Name {
	case "noam":
		return NoamDecay{LR: lr, Model: c.count("d_model"), Warmup: c.count("warmup_steps")}
	case "piecewise":
		return PiecewiseDecay{c.counts("boundaries"), c.numbers("values")}
	case "natural_exp":
		return NaturalExpDecay{LR: lr, Gamma: gamma}
	case "inverse_time":
		return InverseTimeDecay{LR: lr, Gamma: gamma}
	case "polynomial":
		return PolynomialDecay{lr, c.count("decay_steps"), c.number("end_lr"), c.number("power"), c.Hyper["cycle"] == true}
	case "linear_warmup":
		return LinearWarmup{Steps: c.count("warmup_steps"), Start: c.number("start_lr"), End: c.number("end_lr"), After: c.after()}
	case "exponential":
		return ExponentialDecay{LR: lr, Gamma: gamma}
	case "multistep":
		return MultiStepDecay{lr, c.counts("milestones"), gamma}
	case "step":
		return StepDecay{lr, c.count("step_size"), gamma}
	case "lambda":
		return LambdaDecay{"power", lr, func(n int64) float64 { return math.Pow(0.95, float64(n)) }}
	case "multiplicative":
		return MultiplicativeDecay{"constant", lr, func(int64) float64 { return 0.95 }}
	case "cosine_annealing":
		return CosineAnnealingDecay{lr, c.count("T_max"), c.number("eta_min")}
	case "cosine_warm_restarts":
		return CosineAnnealingWarmRestarts{lr, c.count("T_0"), c.count("T_mult"), c.number("eta_min")}
	case "one_cycle":
		return OneCycleLR{Max: c.number("max_learning_rate"), Steps: c.count("total_steps"), Divide: c.number("divide_factor"),
			End: c.number("end_learning_rate"), Rise: c.number("phase_pct"), Line: c.Hyper["anneal_strategy"] == "linear",
			ThreePhase: c.Hyper["three_phase"] == true}
	case "cyclic":
		return CyclicLR{Base: c.number("base_learning_rate"), Max: c.number("max_learning_rate"), Up: c.count("step_size_up"),
			Down: c.count("step_size_down"), Mode: CyclicMode(c.Hyper["mode"].(string)), Gamma: gamma}
	case "linear":
		return LinearLR{lr, c.count("total_steps"), c.number("start_factor"), c.number("end_factor")}
	case "reduce_on_plateau":
		return c.plateau()
	}
	return nil
}

// after is the schedule that a warm-up goes on with, nil for none.
func (c goldenSchedule) after() Schedule {
	inner, ok := c.Hyper["after"].(map[string]any)
	if !ok {
		return nil
	}
	return goldenSchedule{Name: inner["name"].(string), Hyper: inner["hyper"].(map[string]any)}.schedule()
}

// plateauRates are the rates that a ReduceOnPlateau had before each metric.
type plateauRates []float64

func (p plateauRates) Rate(n int64) float64 { return p[n] }

func (c goldenSchedule) plateau() (rates plateauRates) {
	p := ReduceOnPlateau{LR: c.number("learning_rate"), Factor: c.number("factor"), Patience: int(c.number("patience")),
		Threshold: c.number("threshold"), Max: c.Hyper["mode"] == "max", Absolute: c.Hyper["threshold_mode"] == "abs",
		Cooldown: int(c.number("cooldown")), Min: c.number("min_lr"), Epsilon: c.number("epsilon")}
	if p.Patience == 0 {
		p.Patience = -1 // none
	}
	for _, metric := range c.numbers("metrics") {
		rates = append(rates, p.Rate())
		p.Step(metric)
	}
	return rates
}

// TestGoldenSchedules: more_schedules.json has the options that schedules.json leaves at their defaults.
func TestGoldenSchedules(t *testing.T) {
	for name, cases := range map[string]int{"schedules.json": 18, "more_schedules.json": 15} {
		var file struct{ Schedules []goldenSchedule }
		readGolden(t, name, &file)
		for _, c := range file.Schedules {
			t.Run(c.Name, c.check)
		}
		if len(file.Schedules) < cases {
			t.Errorf("%s has %d schedules, there are %d", name, len(file.Schedules), cases)
		}
	}
}

func (c goldenSchedule) check(t *testing.T) {
	s := c.schedule()
	if s == nil {
		t.Fatal("there is no such schedule")
	}
	if k, ok := s.(interface{ Check() error }); ok {
		if err := k.Check(); err != nil {
			t.Error(err)
		}
	}
	for n, want := range c.LR {
		if got := s.Rate(int64(n)); !(math.Abs(got-want) <= 1e-6*math.Abs(want)+1e-12) {
			t.Fatalf("%s: rate %d is %v, want %v", fmt.Sprintf("%+v", s), n, got, want)
		}
	}
}

// readGolden reads what the original computed.
func readGolden(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(os.Getenv("GOLDEN_DIR"), name))
	if err != nil { // no GOLDEN_DIR, or a file that was written for this package alone
		data, err = os.ReadFile(filepath.Join("testdata", name))
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
