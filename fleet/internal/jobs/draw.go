package jobs

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/twin"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Draw draws the program of a seed. Model, rules and strategy are those of a leg of a program of the twin.
func Draw(seed uint64) Program {
	r := rand.New(rand.NewPCG(seed, 40))
	p := Program{Model: twin.Draw(seed), Epochs: 2 + r.IntN(3), Tests: pick(r, 0, 5, 9), EvalEvery: pick(r, 0, 0, 2, 3),
		Rest:   time.Duration(pick(r, 50, 300, 1500)) * time.Millisecond,
		Every:  pick(r, time.Second, 2*time.Second, 10*time.Second, time.Hour),
		Deltas: pick(r, 0, 0, 2), Period: pick(r, "", "shrink", "shrink", "batch"), Publishes: often(r, 3),
		Hook: time.Duration(pick(r, 0, 100, 2500)) * time.Millisecond}
	if often(r, 3) {
		p.Unseen = 1 + r.Uint32N(3)
	}
	net, legs := &p.Model.Net, p.Model.Legs
	net.Bad, net.Drop, net.Beside = 0, 0, false
	l := legs[r.IntN(len(legs))]
	p.Model.Legs, p.Model.Samples = nil, 12+r.IntN(40)
	p.Rules, p.Strategy = l.Rules, l.Strategy
	s := &p.Strategy
	s.LocalSGD, s.AdaptiveLocalSGD, s.NotFinite = strategy.LocalSGD{}, strategy.AdaptiveLocalSGD{}, ""
	s.WorkerTimeout, s.HeartbeatInterval = strategy.Duration(5*time.Second), strategy.Duration(time.Second)
	s.StartTimeout, s.WaitTimeout = strategy.Duration(time.Minute), strategy.Duration(10*time.Minute)
	p.Rules = p.Model.Counts(p.Rules)
	if s.GradientMerge.Sum = s.GradientMerge.KSteps > 1; s.Merge == strategy.MergeMean {
		s.Merge = ""
	}
	p.User = pick(r, 0, 0, 30, 34<<10)
	p.drawMore(rand.New(rand.NewPCG(seed, 43)), l)
	p.drawUnsent(rand.New(rand.NewPCG(seed, 47)))
	p.drawLives(r, l)
	p.drawLosses(rand.New(rand.NewPCG(seed, 44)))
	if p.Tests > 0 && often(r, 4) {
		p.Worse = !often(r, 3)
		if p.Patience = pick(r, 0, 2, 4); p.Rules.All.LR > 0 { // no schedule has its place
			p.Plateau = pick(r, 0, 1, 3, 3)
		}
	} else if s.Mode == strategy.ModeSync && !often(r, 4) {
		s.Weighting = strategy.WeightPushes // as the ledger wants it
	}
	single := func(l Life) bool { return l.Threads <= 1 }
	if s.Mode == strategy.ModeHalfAsync && s.GradientMerge.KSteps > 1 && !p.all(single) {
		p.EvalEvery = 0 // which package train refuses
	}
	if r := rand.New(rand.NewPCG(seed, 44)); often(r, 5) {
		p.Days = pick(r, 1, 3, 9, 14)
		p.EvalEvery, p.Patience, p.Tests, p.Plateau, p.Worse, p.Sharded, p.Period = 0, 0, 0, 0, false, false, "days"
	}
	return p
}

// drawUnsent has pushes of mode async wait for samples, which rules whose updates add up and plain tables can do.
func (p *Program) drawUnsent(r *rand.Rand) {
	if p.Strategy.Mode != strategy.ModeAsync || !often(r, 4) {
		return
	}
	s := &p.Strategy
	*s = strategy.Strategy{Mode: s.Mode, PushSamples: pick(r, 2, 5, 12, 1000), Placement: s.Placement,
		NoSlice: s.NoSlice, MinBlockSize: s.MinBlockSize, SmallBlocks: s.SmallBlocks, MaxFrame: s.MaxFrame,
		HeartbeatInterval: s.HeartbeatInterval, WorkerTimeout: s.WorkerTimeout, StartTimeout: s.StartTimeout,
		WaitTimeout: s.WaitTimeout, GradientMerge: s.GradientMerge}
	p.Rules.All = twin.Rule{Kind: "sgd", LR: pick(r, 0.01, 0.2)}
	for name := range p.Rules.By {
		p.Rules.By[name] = twin.Rule{Kind: "sgd", LR: p.Rules.By[name].LR}
	}
	for i := range p.Model.Net.Tables {
		t := &p.Model.Net.Tables[i]
		t.Count, t.Chance, t.Score, t.Clicks = 0, 0, 0, false
	}
	if m := &p.Model.More; m.Evict.By == optimizer.EvictScore {
		m.Evict.By = optimizer.EvictUnused
	}
	p.Model.More.Shows = false
}

// drawMore draws what the model has that those of the twin have not.
func (p *Program) drawMore(r *rand.Rand, leg twin.Leg) {
	m := &p.Model.More
	m.Padding, m.Shows, m.Detached, m.Weighted = often(r, 3), often(r, 2), often(r, 4), often(r, 4)
	if often(r, 3) {
		m.Pool = pick(r, nn.PoolSum, nn.PoolMean, nn.PoolSqrtN)
	}
	if p.Strategy.Mode == strategy.ModeGeo {
		return
	}
	bounds := rand.New(rand.NewPCG(p.Model.Seed, 46))
	if leg.Kind() != "collective" && (m.Pool != "" && often(r, 3) || often(bounds, 6)) {
		p.drawBound(bounds)
	}
	if often(r, 8) && leg.Servers > 0 && p.Rules.All.Kind != "lars" {
		p.Rules.By["hidden.w_0"] = twin.Rule{Kind: "dpsgd", LR: 0.05}
	}
}

// drawBound bounds the table with any number of ids, which may drop rows.
func (p *Program) drawBound(r *rand.Rand) {
	m := &p.Model.More
	m.Pool, m.MaxBytes = cmp.Or(m.Pool, nn.PoolSum), int64(pick(r, 1<<13, 1<<14, 1<<15, 1<<16, 1<<17))
	if often(r, 3) {
		return
	}
	m.Evict.By = pick(r, optimizer.EvictUnused, optimizer.EvictScore)
	if !p.Rules.Of(twin.PooledName).Dense {
		m.Evict.Floor = int64(pick(r, 0, 0, 1, 4))
	}
}

// rates says whether a table rates its rows by shows and clicks.
func (p Program) rates() bool {
	return p.Model.Net.Rates() || p.Model.More.Evict.By == optimizer.EvictScore
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func often(r *rand.Rand, of int) bool { return r.IntN(of) == 0 }

// drawLives draws how often the job begins, and what befalls it.
func (p *Program) drawLives(r *rand.Rand, leg twin.Leg) {
	l := Life{Servers: leg.Servers, Workers: leg.Workers, Batch: 1 + r.IntN(6), Epochs: pick(r, 0, 0, p.Epochs-1)}
	var (
		room    = l.Servers > 0 && !p.inStep(l) // for threads, and for workers that are started again alone
		same    = often(r, 2)                   // workers, batches and threads in all lives
		threads = room && often(r, 5)
		behind  = "" // a worker that is gone has not trained what the others have
	)
	if threads && p.Strategy.Mode == strategy.ModeHalfAsync { // whose threads' pushes meet: each counts as it is
		p.Strategy.Merge = strategy.MergeSum
	}
	p.Journal = l.Servers > 0 && p.Strategy.Mode != strategy.ModeSync && often(r, 3)
	for range 1 + r.IntN(3) {
		if !same {
			batch, workers := 1+r.IntN(6), pick(r, l.Workers, l.Workers, 1, 2, 3)
			if l.Batch = batch; l.Servers > 0 || p.Model.More.MaxBytes == 0 { // which ranks have not
				l.Workers = workers
			}
		}
		if threads {
			l.Threads = 1 + r.IntN(2)
		}
		switch servers := r.IntN(4); {
		case p.Model.More.MaxBytes > 0: // fewer may have no room for what more had
		case p.Strategy.Mode == strategy.ModeSync && !p.noisy():
			l.Servers = servers
		case leg.Servers > 0:
			l.Servers = max(1, servers)
		}
		if l.Strikes = nil; l.Epochs > 0 && often(r, 2) {
			l.Epochs = 0 // more than the life before had
		}
		for range 1 + r.IntN(2) {
			l.Strikes = append(l.Strikes, p.strike(r, l, room, &behind))
		}
		p.Lives = append(p.Lives, l)
	}
	l.Strikes, l.Epochs = nil, 0
	p.Lives = append(p.Lives, l)
	p.Sharded = same && often(r, 6)
	p.Reloads = p.all(func(l Life) bool { return l.Servers > 0 && p.inStep(l) }) && often(r, 4)
}

// drawLosses has roles stand still, or the others go on without a worker that dies.
func (p *Program) drawLosses(r *rand.Rand) {
	if mode := p.Strategy.Mode; mode == strategy.ModeSync || mode == strategy.ModeSSP {
		p.Lost = pick(r, "", "", strategy.WorkerBack, strategy.WorkerGoOn)
	}
	p.Stands = !often(r, 3)
	for i := range p.Lives[:len(p.Lives)-1] {
		l := &p.Lives[i]
		if l.Servers == 0 && l.Workers == 1 || !often(r, 3) { // nobody is there for whom it could stand still
			continue
		}
		s := Strike{Kind: "pause", Role: fmt.Sprintf("worker %d", r.IntN(l.Workers)), By: r.IntN(l.Workers), At: "step",
			Step: 1 + r.IntN(max(1, p.steps(*l)*p.epochs(*l))),
			Away: pick(r, 100*time.Millisecond, 3*time.Second, 20*time.Second, 45*time.Second, 2*time.Minute)}
		if l.Servers > 0 && often(r, 2) {
			s.Role = fmt.Sprintf("server %d", r.IntN(l.Servers))
		}
		l.Strikes = append(l.Strikes, s)
	}
}

// steps are how many steps a worker makes in an epoch at least.
func (p *Program) steps(l Life) int { return (p.Model.Samples/l.Workers + l.Batch - 1) / l.Batch }

// strike draws what befalls a role, or all.
func (p *Program) strike(r *rand.Rand, l Life, room bool, behind *string) Strike {
	s := Strike{Kind: pick(r, "end", "end", "kill", "fail"), Role: "all", By: r.IntN(l.Workers)}
	steps := p.steps(l)
	s.At, s.Step = "step", 1+r.IntN(max(1, steps*p.epochs(l)))
	switch {
	case *behind != "": // as long as a worker catches up
		s.Step = 1 + r.IntN(2*steps)
		*behind = ""
	case often(r, 3):
		s.At, s.Step = pick(r, "evaluated", "epoch ends", "epoch ended"), 1+r.IntN(p.epochs(l))
	}
	switch {
	case room && l.Workers > 1 && often(r, 2):
		s.Role, s.Kind = fmt.Sprintf("worker %d", s.By), pick(r, "kill", "fail", "end")
		s.Away = pick(r, 0, 0, time.Second, 9*time.Second, time.Minute, 20*time.Minute)
		if s.Away == 0 {
			*behind = s.Role
		}
	case l.Servers > 0 && often(r, 4):
		s.Role, s.Kind = fmt.Sprintf("server %d", r.IntN(l.Servers)), pick(r, "kill", "end")
		if p.Journal {
			s.Kind, s.Away = "end", pick(r, time.Second, 9*time.Second, time.Minute)
		}
	case s.Kind == "fail" || often(r, 4):
		s.Role = fmt.Sprintf("worker %d", s.By)
	}
	return s
}
