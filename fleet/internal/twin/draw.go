package twin

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gofleet/gofleet/strategy"
)

// Draw draws the program of a seed.
func Draw(seed uint64) Program {
	r, more := rand.New(rand.NewPCG(seed, 17)), rand.New(rand.NewPCG(seed, 18))
	p := Program{Seed: seed, Samples: 8 + r.IntN(25), Net: drawNet(r)}
	late := rand.New(rand.NewPCG(seed, 19))
	p.Net.drawEntries(more)
	if norm := rand.New(rand.NewPCG(seed, 20)); often(norm, 5) {
		p.Net.Norm = pick[float32](norm, 0.5, 0.8)
	}
	if len(p.Net.Tables) > 0 && often(late, 8) { // rows of which no frame of 4 kB holds many
		p.Net.Tables[0].Dim, p.Net.Tables[0].Slots = pick(late, 110, 300), 1
	}
	if pieces := rand.New(rand.NewPCG(seed, 21)); p.Net.wide() && often(pieces, 2) { // with clicks, in pieces
		t := &p.Net.Tables[0]
		t.Dim, t.Count, t.Chance, t.Score, t.Clicks = pick(pieces, 110, 140, 200, 300), 0, 0, 1.05, true
		for len(t.Pool) < 12 {
			t.Pool = append(t.Pool, uint64(20+len(t.Pool)))
		}
		p.Net.pieces = true
	}
	drifts := often(more, 6)
	if drifts {
		p.Net.Tables, p.Net.Ledger, p.Net.Beside, p.Net.Bad = nil, false, false, 0
	}
	d := drawer{Rand: r, more: more, late: late, batches: rand.New(rand.NewPCG(seed, 28)),
		p: &p, workers: pick(r, 1, 1, 2, 2, 3), drifts: drifts}
	if drifts {
		d.workers = max(d.workers, 2)
	}
	if often(r, 3) { // blocks of few elements, in all legs: restarts cut them elsewhere
		d.block = pick(r, 1, 1, 2, 3, 7)
	}
	d.narrow = p.Net.Bad == 0 && often(r, 6) && !drifts
	d.rules = d.drawRules()
	for range 1 + r.IntN(3) {
		d.leg()
	}
	p.drawShift(rand.New(rand.NewPCG(seed, 25)))
	p.drawTimeouts(rand.New(rand.NewPCG(seed, 24)))
	p.drawReturns(rand.New(rand.NewPCG(seed, 30)))
	p.drawBases(rand.New(rand.NewPCG(seed, 31)))
	p.drawLosses(rand.New(rand.NewPCG(seed, 33)))
	p.Store = often(rand.New(rand.NewPCG(seed, 27)), 4)
	p.drawMemory(rand.New(rand.NewPCG(seed, 38)))
	p.drawUnused(rand.New(rand.NewPCG(seed, 36)))
	p.drawTurns(rand.New(rand.NewPCG(seed, 37)))
	p.name()
	return p
}

// drawTimeouts has processes of some legs be silent for other times.
func (p *Program) drawTimeouts(r *rand.Rand) {
	for i := range p.Legs {
		if s := &p.Legs[i].Strategy; often(r, 6) {
			s.WorkerTimeout = strategy.Duration(pick(r, 5*time.Second, 10*time.Second, time.Minute))
			s.HeartbeatInterval = s.WorkerTimeout / strategy.Duration(2+r.IntN(8))
			s.StartTimeout = strategy.Duration(pick(r, time.Minute, 3*time.Minute, 10*time.Minute))
			// servers may be away for a minute
			s.WaitTimeout = strategy.Duration(pick(r, 5*time.Minute, 15*time.Minute, time.Hour))
		}
	}
}

// drawMemory has servers of some legs bound their tables by far more than these take.
func (p *Program) drawMemory(r *rand.Rand) {
	for i, l := range p.Legs {
		if often(r, 8) && l.Servers > 0 && !l.copies() {
			p.Legs[i].Strategy.MaxMemory = 0.5
		}
	}
}

// drawUnused has some programs give every param a rule by its name, beside one for others that are none.
func (p *Program) drawUnused(r *rand.Rand) {
	bound := func(l Leg) bool { return l.copies() || l.drifts() } // to rules that all others have too
	if !often(r, 4) || slices.ContainsFunc(p.Legs, bound) {
		return
	}
	other := Rule{Kind: pick(r, "sgd", "adam", "ftrl"), LR: 0.05}
	for i := range p.Legs {
		rules := &p.Legs[i].Rules
		by := maps.Clone(rules.By)
		for _, name := range p.Net.params() {
			by[name] = rules.Of(name)
		}
		rules.All, rules.By = other, by
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func often(r *rand.Rand, of int) bool { return r.IntN(of) == 0 }

// drawer draws legs, one after the other.
type drawer struct {
	*rand.Rand
	more    *rand.Rand // of what is drawn besides, so that all else of a seed stays
	late    *rand.Rand // the same once more
	batches *rand.Rand // and of periods that end with a checkpoint
	p       *Program
	workers int
	rules   Rules
	narrow  bool // gradients may travel narrowed, under rules that make no small number a large one
	drifts  bool // copies may meet seldom, under rules that take that
	block   int  // the size of blocks, 0 where each leg has its own
	saved   []saved
	epochs  []Call // trained so far
}

// saved is a directory that a leg has saved into.
type saved struct {
	dir   string
	only  []string
	rules Rules
	model bool
}

func drawNet(r *rand.Rand) Net {
	n := Net{Inputs: 1 + r.IntN(4), Hidden: 2 + r.IntN(3), Ledger: r.IntN(3) > 0}
	for i := range r.IntN(3) {
		t := Table{Name: pick(r, "user ", "x.", "名") + string(rune('a'+i)), Dim: 1 + r.IntN(4), Slots: 1 + r.IntN(3)}
		t.Height = pick(r, 0, 0, 40, 1<<40)
		for range 2 + r.IntN(12) {
			id := pick(r, uint64(r.IntN(20)), r.Uint64N(1<<53), r.Uint64())
			if t.Height > 0 {
				id %= uint64(t.Height)
			}
			t.Pool = append(t.Pool, id)
		}
		if often(r, 4) {
			t.Count = 2 + r.IntN(2)
		}
		n.Tables = append(n.Tables, t)
	}
	if often(r, 8) {
		n.Bad = 3 + r.IntN(10)
	}
	if often(r, 6) {
		n.Drop = pick[float32](r, 0.25, 0.5)
	}
	n.Beside = len(n.Tables) > 0 && often(r, 6)
	return n
}

// drawEntries has tables let ids in by lot, or by shows and clicks.
func (n *Net) drawEntries(r *rand.Rand) {
	for i := range n.Tables {
		t := &n.Tables[i]
		switch r.IntN(8) {
		case 0:
			t.Count, t.Chance = 0, pick(r, 0.4, 0.8)
		case 1, 2:
			t.Count, t.Score, t.Clicks = 0, pick(r, 0.05, 0.15, 0.25, 1.05), often(r, 2)
		}
	}
}

// drawRules are rules whose state goes from leg to leg.
func (d *drawer) drawRules() Rules {
	all := Rules{All: d.rule(false), By: map[string]Rule{}}
	if d.drifts {
		all.All = all.All.drifting()
		return all
	}
	for _, name := range d.p.Net.params() {
		if d.p.Net.isTable(name) && often(d.Rand, 2) {
			all.By[name] = d.rule(true)
		} else if often(d.Rand, 6) {
			all.By[name] = d.rule(false)
		}
	}
	if d.p.Net.Ledger {
		all.By[ledgerName] = Rule{Kind: "sgd", LR: 1}
	}
	if often(d.Rand, 3) {
		all.Clip, all.Norm = pick(d.Rand, "each", "all"), pick(d.Rand, 0.05, 0.5, 5)
		if d.p.Net.Ledger {
			all.Except = []string{ledgerName}
		}
		if often(d.Rand, 3) {
			all.Except = append(all.Except, "hidden.w_0")
		}
	}
	return all
}

var (
	denseRules = []string{"sgd", "momentum", "adam", "adamw", "adamax", "adagrad", "decayed", "adadelta", "rmsprop",
		"ftrl", "lamb", "lars"}
	rowRules = []string{"naive", "shared", "std", "rowadam", "twoadam"}
	planned  = []string{"exponential", "staircase", "inverse", "piecewise", "steps", "warmup"}
)

func (d *drawer) rule(row bool) Rule {
	kinds := denseRules
	if row {
		kinds = slices.Concat(denseRules, rowRules, rowRules, rowRules)
	}
	if d.narrow {
		kinds = []string{"sgd", "momentum"}
		if row {
			kinds = append(kinds, "naive", "shared", "std")
		}
	}
	r := Rule{Kind: pick(d.Rand, kinds...), LR: pick(d.Rand, 0.005, 0.02, 0.05)}
	switch r.Kind {
	case "momentum":
		r.Nesterov = often(d.Rand, 2)
	case "adam":
		r.Dense = often(d.Rand, 3)
	case "rmsprop":
		r.Centered, r.Momentum = often(d.Rand, 3), pick(d.Rand, 0, 0.5)
	case "ftrl":
		r.Shrink = pick(d.Rand, 0, 0.01)
	}
	if often(d.Rand, 4) {
		r.Schedule = Schedule{pick(d.Rand, planned...), r.LR}
		r.LR = 0
	}
	if often(d.Rand, 5) && !r.Dense { // whether a row decays before it is born is said nowhere
		r.L2, r.L1 = 0.05, pick(d.Rand, 0, 0.002)
	}
	if often(d.Rand, 5) && !d.narrow {
		// a clip forgets what rounding took of a gradient, and not what it added to the next
		r.Max = pick(d.Rand, 0.02, 0.3)
	}
	return r
}

// drifting is a rule under which workers' copies may differ for a while.
func (r Rule) drifting() Rule {
	r.L1, r.L2, r.Max = 0, 0, 0
	if r.Kind != "momentum" {
		r = Rule{Kind: "sgd", LR: r.LR, Schedule: r.Schedule}
	}
	return r
}

// renumbered are the same rules with other rates, schedules and bounds: a checkpoint's state is theirs too.
func (d *drawer) renumbered(r Rules) Rules {
	by, again := map[string]Rule{}, func(r Rule) Rule {
		if other := d.rule(false); !r.Dense {
			r.LR, r.Schedule, r.L1, r.L2, r.Max = other.LR, other.Schedule, other.L1, other.L2, other.Max
		}
		return r
	}
	for _, name := range slices.Sorted(maps.Keys(r.By)) {
		if by[name] = r.By[name]; name != ledgerName {
			by[name] = again(r.By[name])
		}
	}
	r.All, r.By, r.Norm = again(r.All), by, pick(d.Rand, 0.05, 0.5, 5)
	if d.drifts {
		r.All = r.All.drifting()
	}
	return r
}

// descent makes all rules plain gradient descent, as geo wants them.
func (r Rules) descent() Rules {
	plain := func(r Rule) Rule {
		return Rule{Kind: "sgd", LR: r.LR, Schedule: r.Schedule, L1: r.L1, L2: r.L2, Max: r.Max}
	}
	by := map[string]Rule{}
	for name, own := range r.By {
		by[name] = plain(own)
	}
	r.All, r.By = plain(r.All), by
	return r
}

// strategy draws how a leg trains.
func (d *drawer) strategy(servers int) strategy.Strategy {
	s := strategy.Sync()
	if servers > 0 && often(d.Rand, 2) {
		s = d.asynchronous()
	}
	if servers > 0 && often(d.Rand, 4) && !d.p.Net.counts() && (d.workers == 1 || d.p.Net.Ledger) {
		s = strategy.Geo(1 + d.IntN(4))
	}
	if s.Mode == strategy.ModeSync && often(d.Rand, 3) {
		s.Weighting = pick(d.Rand, strategy.WeightSamples, strategy.WeightEqual, strategy.WeightPushes)
	}
	if d.p.Net.Bad > 0 {
		s.NotFinite = pick(d.Rand, strategy.NotFiniteSkip, strategy.NotFiniteSkip, strategy.NotFiniteClip)
	}
	if d.narrow && servers > 0 && s.Mode != strategy.ModeGeo && often(d.Rand, 2) {
		s.Payload = pick(d.Rand, strategy.PayloadFloat16, strategy.PayloadBFloat16, strategy.PayloadInt8)
	}
	if s.Mode != strategy.ModeGeo && s.DelayCompensation == 0 && often(d.Rand, 4) {
		s.GradientMerge = strategy.GradientMerge{KSteps: 2 + d.IntN(2), Sum: often(d.Rand, 2)}
	}
	if servers == 0 {
		if d.workers > 1 && often(d.Rand, 6) {
			s.FuseGradSizeInMB = 1
		}
		if d.drifts && d.workers > 1 && !often(d.more, 4) {
			s.GradientMerge, s.Weighting = strategy.GradientMerge{}, ""
			if k, begin := 1+d.more.IntN(4), d.more.IntN(4); often(d.more, 2) {
				s.LocalSGD = strategy.LocalSGD{KSteps: k, BeginStep: begin}
			} else {
				s.AdaptiveLocalSGD = strategy.AdaptiveLocalSGD{InitKSteps: k, BeginStep: begin}
			}
		}
		return s
	}
	if often(d.Rand, 2) {
		s.Placement = pick(d.Rand, "RoundRobin", "HashName", "Balanced")
	}
	switch d.IntN(3) {
	case 0:
		s.SmallBlocks, s.MinBlockSize = true, pick(d.Rand, 1, 2, 3, 7)
	case 1:
		s.NoSlice = often(d.Rand, 2)
	}
	if d.block > 0 {
		s.SmallBlocks, s.MinBlockSize, s.NoSlice = true, d.block, false
	}
	if s.Mode == strategy.ModeSync && often(d.Rand, 5) {
		s.Codec = pick(d.Rand, "none", "s2", "zstd", "gzip")
	}
	if often(d.Rand, 6) {
		s.MaxFrame = 4096
	}
	return s
}

// asynchronous draws a strategy of the modes in which the order of pushes decides.
func (d *drawer) asynchronous() strategy.Strategy {
	if len(d.p.Net.tables()) > 0 && often(d.Rand, 6) {
		return strategy.Strategy{Mode: strategy.ModeAsync, DelayCompensation: pick(d.Rand, 0.3, 1)}
	}
	s := strategy.Strategy{NoForesight: often(d.Rand, 2)}
	s.Mode = pick(d.Rand, strategy.ModeAsync, strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeSSP)
	switch s.Mode {
	case strategy.ModeSSP:
		s.Staleness = d.IntN(4)
	case strategy.ModeHalfAsync:
		s.Merge = pick(d.Rand, "", strategy.MergeMean, strategy.MergeSum)
	case strategy.ModeAsync:
		s.LookAhead = often(d.Rand, 4)
		if often(d.Rand, 3) {
			s.MaxMergeVarNum, s.SendQueueSize = 1+d.IntN(3), 1+d.IntN(4)
			if s.MaxMergeVarNum > 1 {
				s.Merge = pick(d.Rand, "", "", strategy.MergeMean, strategy.MergeSum)
				s.SendWaitTimes = d.IntN(3)
			}
		}
		if !d.narrow && often(d.Rand, 4) {
			s.ThreadPoolSize, s.SendQueueSize = 2+d.IntN(2), max(s.SendQueueSize, 2)
		}
		if often(d.Rand, 4) {
			s.IndependentRecvThread = true
		}
		if often(d.Rand, 4) {
			s.MinSendGradNumBeforeRecv = 1 + d.IntN(3)
		}
	}
	return s
}
