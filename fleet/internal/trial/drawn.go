package trial

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/strategy"
)

// Drawn is a job drawn by seed: any cluster, model, rule and strategy, whether they are compatible or not.
type Drawn struct {
	Servers, Workers, Threads int
	Again                     int // servers of the job that continues
	Strategy                  strategy.Strategy
	Rule                      optimizer.Rule
	Shapes                    []optimizer.Param // without W and G
	Samples                   int               // the largest batch
	Steps                     [][2]int          // of each worker in both epochs
	LookAhead, Evals, Resaves bool
	Faults                    bool // messages are lost, repeated and delayed
	Seed                      Seed
}

// Draw draws the job of a seed.
func Draw(seed Seed) Drawn {
	r := rand.New(rand.NewPCG(seed.N, 2))
	d := Drawn{Seed: seed, Servers: r.IntN(4), Workers: 1 + r.IntN(3), Threads: 1, Again: 1 + r.IntN(3),
		Samples:   1 + r.IntN(6),
		LookAhead: r.IntN(2) == 0, Evals: r.IntN(2) == 0, Resaves: r.IntN(3) == 0}
	if d.Servers == 0 {
		d.Again = 0
	}
	d.Strategy = drawStrategy(r, d.Servers)
	d.Rule = drawRule(r, d.Strategy.Mode)
	if d.Strategy.PushSamples > 1 {
		clipped := optimizer.ClipByNorm{Rule: optimizer.SGD{}, Norm: 1}
		d.Rule = pick[optimizer.Rule](r, optimizer.SGD{LR: 0.01}, clipped, d.Rule)
	}
	d.Shapes = drawParams(r, d.Strategy)
	m := cmp.Or(d.Strategy.Mode, strategy.ModeAsync)
	if d.Servers > 0 && m != strategy.ModeSync && m != strategy.ModeSSP && r.IntN(3) == 0 {
		d.Threads = 2 + r.IntN(2)
	}
	for range d.Workers {
		d.Steps = append(d.Steps, [2]int{r.IntN(7), r.IntN(7)})
	}
	if d.Faults = d.Servers > 0 && r.IntN(3) == 0; d.Faults {
		d.Strategy.WaitTimeout = Patient(d.Strategy).WaitTimeout
		d.Strategy.WorkerTimeout, d.Strategy.HeartbeatInterval = 0, 0
	}
	return d
}

// String describes the whole job, for the log of a failed test.
func (d Drawn) String() string {
	text := fmt.Sprintf("servers %d then %d, workers %d × %d threads, steps %v of up to %d samples, ",
		d.Servers, d.Again, d.Workers, d.Threads, d.Steps, d.Samples)
	text += fmt.Sprintf("look ahead %t, evaluate %t, save meanwhile %t, faults %t\nrule %T%+v\nstrategy %+v",
		d.LookAhead, d.Evals, d.Resaves, d.Faults, d.Rule, d.Rule, d.Strategy)
	for _, p := range d.Shapes {
		text += fmt.Sprintf("\nparam %q %v embedding %t frozen %t init %v entry %+v, %d bytes", p.Name, p.Shape,
			p.Embedding,
			p.Frozen, p.Init, p.Entry, p.MaxBytes)
	}
	return text
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// fieldsOf are the fields that apply in a mode, besides those of every mode.
var fieldsOf = map[strategy.Mode][]string{
	strategy.ModeSync: {"Weighting", "GradientMerge"},
	strategy.ModeAsync: {"LookAhead", "Merge", "MaxMergeVarNum", "PushSamples", "SendQueueSize", "SendWaitTimes",
		"ThreadPoolSize", "IndependentRecvThread", "MinSendGradNumBeforeRecv", "DelayCompensation", "GradientMerge"},
	strategy.ModeGeo:       {"KSteps", "GeoRest"},
	strategy.ModeSSP:       {"Staleness", "GradientMerge"},
	strategy.ModeHalfAsync: {"Merge", "GradientMerge"},
}

var fieldsOfAll = []string{"Placement", "NoSlice", "MinBlockSize", "SmallBlocks", "Codec", "Payload", "MaxFrame",
	"MaxMemory", "NotFinite",
	"HeartbeatInterval", "WorkerTimeout", "StartTimeout", "WaitTimeout"}

// drawStrategy sets some of the fields that apply in the mode, and rarely one of all fields.
func drawStrategy(r *rand.Rand, servers int) strategy.Strategy {
	s := strategy.Strategy{Mode: pick(r, append(strategy.Modes(), "")...)}
	if servers == 0 {
		s.Mode = pick(r, strategy.ModeSync, strategy.ModeSync, strategy.ModeSync, "", s.Mode)
	}
	v := reflect.ValueOf(&s).Elem()
	own := fieldsOf[cmp.Or(s.Mode, strategy.ModeAsync)]
	switch {
	case servers > 0:
	case s.Mode == strategy.ModeSync && r.IntN(3) == 0:
		own = []string{"LocalSGD", "AdaptiveLocalSGD", "FuseGradSizeInMB"}
	case s.Mode == strategy.ModeSync || s.Mode == "":
		own = []string{"Weighting", "GradientMerge"}
	}
	for _, name := range own {
		if r.IntN(2) == 0 {
			drawField(r, name, v.FieldByName(name))
		}
	}
	for _, name := range fieldsOfAll {
		if r.IntN(4) == 0 {
			drawField(r, name, v.FieldByName(name))
		}
	}
	agree(r, &s)
	if r.IntN(20) == 0 {
		i := r.IntN(v.NumField())
		drawField(r, v.Type().Field(i).Name, v.Field(i))
	}
	return s
}

// agree corrects most incompatible settings.
func agree(r *rand.Rand, s *strategy.Strategy) {
	if r.IntN(20) == 0 {
		return
	}
	if s.MinBlockSize > 0 {
		s.SmallBlocks = true
	}
	if s.NoSlice {
		s.SmallBlocks, s.MinBlockSize = false, 0
	}
	if s.MaxMergeVarNum < 2 {
		s.SendWaitTimes = 0
	}
	if s.PushSamples > 1 {
		s.MaxMergeVarNum, s.SendQueueSize, s.SendWaitTimes, s.ThreadPoolSize = 0, 0, 0, 0
		s.IndependentRecvThread, s.MinSendGradNumBeforeRecv = false, 0
		s.LookAhead, s.DelayCompensation, s.Merge = false, 0, ""
	}
	if s.LocalSGD.KSteps > 0 {
		s.AdaptiveLocalSGD, s.GradientMerge = strategy.AdaptiveLocalSGD{}, strategy.GradientMerge{}
	}
	if s.AdaptiveLocalSGD.InitKSteps > 0 {
		s.GradientMerge = strategy.GradientMerge{}
	}
	if t := s.WithDefaults(); t.HeartbeatInterval > t.WorkerTimeout/2 {
		s.HeartbeatInterval, s.WorkerTimeout = 0, 0
	}
	if s.Mode == strategy.ModeGeo {
		s.Payload = ""
	}
}

// drawField sets one field to a possible value, including extreme ones.
func drawField(r *rand.Rand, name string, field reflect.Value) {
	type merge = strategy.GradientMerge
	second := strategy.Duration(time.Second)
	values := map[string][]any{
		"Mode":                     {strategy.ModeSync, strategy.ModeAsync, strategy.ModeGeo},
		"Staleness":                {0, 1, 5, math.MaxInt},
		"KSteps":                   {1, 2, 3, 1000, math.MaxInt},
		"GeoRest":                  {strategy.GeoRestSend, strategy.GeoRestKeep},
		"Merge":                    {strategy.MergeMean, strategy.MergeSum},
		"MaxMergeVarNum":           {1, 2, 20, math.MaxInt},
		"PushSamples":              {1, 2, 20, 1 << 30},
		"SendQueueSize":            {1, 2, 20, 1000},
		"SendWaitTimes":            {1, 3, 100},
		"ThreadPoolSize":           {1, 2, 5, 100},
		"IndependentRecvThread":    {true, false},
		"LookAhead":                {true, false},
		"MinSendGradNumBeforeRecv": {1, 2, 20, math.MaxInt},
		"DelayCompensation":        {0.04, 1.0, 1.0},
		"Placement":                {"RoundRobin", "HashName", "HashName", "HashName", "HashName", "Nowhere"},
		"NoSlice":                  {true, false},
		"MinBlockSize":             {1, 7, 100, 8192, 10000},
		"SmallBlocks":              {true, false},
		"Codec":                    {"none", "s2", "zstd", "gzip"},
		"Payload": {strategy.PayloadFloat32, strategy.PayloadFloat16, strategy.PayloadBFloat16,
			strategy.PayloadInt8},
		"MaxFrame":          {4096, 4097, 5000, 10000, 1 << 20, math.MaxInt},
		"MaxMemory":         {0.1, 0.8, 1.0},
		"NotFinite":         {strategy.NotFiniteRefuse, strategy.NotFiniteSkip, strategy.NotFiniteClip},
		"HeartbeatInterval": {second / 100, second / 2, 10 * second},
		"WorkerTimeout":     {second, 2 * second, 60 * second, 10000 * second},
		"StartTimeout":      {10 * second, 10000 * second},
		"WaitTimeout":       {60 * second, 100000 * second},
		"Weighting":         {strategy.WeightSamples, strategy.WeightEqual, strategy.WeightPushes},
		"FuseGradSizeInMB":  {1, 2, 100},
		"LocalSGD":          {strategy.LocalSGD{KSteps: 1}, strategy.LocalSGD{KSteps: 3, BeginStep: 2}},
		"AdaptiveLocalSGD": {strategy.AdaptiveLocalSGD{InitKSteps: 2},
			strategy.AdaptiveLocalSGD{InitKSteps: 1, BeginStep: 3}},
		"GradientMerge": {merge{KSteps: 1}, merge{KSteps: 2}, merge{KSteps: 3, Sum: true}},
	}
	field.Set(reflect.ValueOf(pick(r, values[name]...)))
}

// drawRule returns any rule, wrapped or not.
func drawRule(r *rand.Rand, mode strategy.Mode) optimizer.Rule {
	rule := plainRule(r)
	if mode == strategy.ModeGeo && r.IntN(8) > 0 {
		rule = optimizer.SGD{LR: 0.01}
	}
	switch r.IntN(8) {
	case 0:
		rule = optimizer.Decay{Rule: rule, L1: 0.001, L2: 0.01}
	case 1:
		rule = optimizer.ClipByValue{Rule: rule, Max: 0.3}
	}
	if r.IntN(6) == 0 {
		rule = optimizer.PerParam{Rule: rule, By: map[string]optimizer.Rule{"e": plainRule(r),
			"w": optimizer.SGD{LR: 0.02}}}
	}
	switch r.IntN(6) {
	case 0:
		rule = optimizer.ClipByNorm{Rule: rule, Norm: pick(r, 0.01, 1.0, 100)}
	case 1:
		rule = optimizer.ClipByGlobalNorm{Rule: rule, Norm: pick(r, 0.01, 1.0, 100)}
	}
	return rule
}

func plainRule(r *rand.Rand) optimizer.Rule {
	return pick(r, []optimizer.Rule{
		optimizer.SGD{LR: 0.01}, optimizer.SGD{Schedule: lr.ExponentialDecay{LR: 0.01, Gamma: 0.9}},
		optimizer.SGD{LR: 0.01}, optimizer.Momentum{LR: 0.01},
		optimizer.Adam{LR: 0.01}, optimizer.Adam{LR: 0.01, Dense: true}, optimizer.AdamW{LR: 0.01},
		optimizer.Adamax{LR: 0.01}, optimizer.Adagrad{LR: 0.01},
		optimizer.DecayedAdagrad{LR: 0.01}, optimizer.Adadelta{LR: 0.01}, optimizer.RMSProp{LR: 0.01},
		optimizer.Ftrl{LR: 0.01}, optimizer.Lamb{LR: 0.01}, optimizer.Lars{LR: 0.01},
		optimizer.SparseNaive{LR: 0.01}, optimizer.SparseAdagrad{LR: 0.01}, optimizer.StdAdagrad{LR: 0.01},
		optimizer.SparseAdam{LR: 0.01},
	}...)
}

// drawParams returns any model: dense params, embeddings with a height and without, trained and frozen.
func drawParams(r *rand.Rand, s strategy.Strategy) (all []optimizer.Param) {
	names := []string{"w", "e", "e.ids", "layer/0.weight", "名", "a b\"c\\", "%s%d", "w.block0", "e ", "e.waiting",
		"__metadata__"}
	r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	if r.IntN(3) > 0 {
		names = append([]string{"w", "e"}, slices.DeleteFunc(names, func(n string) bool {
			return slices.Contains([]string{"w", "e", "e.ids", "e.waiting", "__metadata__"}, n)
		})...)
	}
	inits := []optimizer.Initializer{nil, optimizer.Uniform{Low: -1, High: 1}, optimizer.Constant{Value: 0.5},
		optimizer.Normal{Std: 0.1}}
	for i, n := 0, 1+r.IntN(5); i < n; i++ {
		p := optimizer.Param{Name: names[i], Seed: r.Uint64N(3), Init: pick(r, inits...), Frozen: r.IntN(6) == 0}
		if p.Embedding = p.Name != "w" && (p.Name == "e" || r.IntN(3) == 0); p.Embedding {
			p.Shape = []int{pick(r, 0, 1, 5, 1000, 50_000, 1<<50), pick(r, 1, 2, 4, 17, 3000)}
			if p.Entry = pick(r, optimizer.Entry{}, optimizer.Entry{}, optimizer.Entry{CountFilter: 2},
				optimizer.Entry{Probability: 0.5},
				optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 0.3}}); p.Frozen {
				p.Entry = optimizer.Entry{}
			}
			if p.MaxBytes = pick(r, 0, 0, 0, int64(64<<20)); s.Mode == strategy.ModeGeo && r.IntN(10) > 0 {
				p.Entry, p.MaxBytes = optimizer.Entry{}, 0
			}
		} else {
			p.Shape = pick(r, []int{1}, []int{3}, []int{7, 3}, []int{1, 1, 1}, []int{100, 30}, []int{1, 5000},
				[]int{5000, 1},
				[]int{300, 100})
		}
		all = append(all, p)
	}
	return all
}

// Model returns the job's model for one thread.
func (d Drawn) Model() *Pulled {
	m := new(Pulled)
	for _, p := range d.Shapes {
		if !p.Embedding {
			p.W = make([]float32, p.Size())
			p.InitDense(p.W)
			if !p.Frozen {
				p.G = make([]float32, p.Size())
			}
		}
		m.List = append(m.List, &p)
	}
	return m
}

// Build sets up the job's training on one role.
func (d Drawn) Build(f *fleet.Fleet) (*Pulled, error) {
	m := d.Model()
	return m, Minimize(f, m, d.Rule, d.Strategy)
}

// Batches returns the batches of a thread in an epoch.
func (d Drawn) Batches(m *Pulled, worker, thread, epoch int) []Batch {
	r := rand.New(rand.NewPCG(d.Seed.N, uint64(1+worker+10*thread+100*epoch)))
	all := make([]Batch, d.Steps[worker][epoch])
	for i := range all {
		all[i] = Batch{X: r.Float32() - 0.5, Samples: 1 + r.IntN(d.Samples)}
		for _, p := range m.List {
			if p.Embedding {
				all[i].IDs = append(all[i].IDs, drawIDs(r, p))
			}
		}
	}
	return all
}

// drawIDs returns some of an embedding's ids, including the first and the last, or none.
func drawIDs(r *rand.Rand, p *optimizer.Param) (ids []uint64) {
	last := uint64(math.MaxUint64)
	if p.Height() > 0 {
		last = uint64(p.Height() - 1)
	}
	for range r.IntN(12) {
		ids = append(ids, pick(r, 0, last, last/2, min(last, r.Uint64N(10)), r.Uint64N(max(1, last))))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
