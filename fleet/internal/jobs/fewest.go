package jobs

import (
	"slices"

	"github.com/gofleet/gofleet/fleet/internal/twin"
	"github.com/gofleet/gofleet/strategy"
)

// Less are the ways to leave one thing out of a program.
func (p Program) Less() (all []func(p *Program)) {
	with := func(change func(p *Program)) { all = append(all, change) }
	last := len(p.Lives) - 1
	for i := range last {
		with(func(p *Program) { p.Lives = slices.Delete(p.Lives, i, i+1) })
		for k := range p.Lives[i].Strikes {
			with(func(p *Program) { p.Lives[i].Strikes = slices.Delete(p.Lives[i].Strikes, k, k+1) })
		}
	}
	with(func(p *Program) { p.Model.Net.Tables, p.Rules.By = nil, p.ledger() })
	with(func(p *Program) { p.Model.Net.Norm = 0 })
	with(func(p *Program) {
		p.Rules = twin.Rules{All: twin.Rule{Kind: "sgd", LR: p.Rules.All.LR}, By: p.ledger()}
	})
	with(func(p *Program) {
		s := strategy.Strategy{Mode: p.Strategy.Mode, KSteps: p.Strategy.KSteps, Weighting: p.Strategy.Weighting,
			WorkerTimeout: p.Strategy.WorkerTimeout, HeartbeatInterval: p.Strategy.HeartbeatInterval,
			StartTimeout: p.Strategy.StartTimeout, WaitTimeout: p.Strategy.WaitTimeout}
		p.Strategy = s
	})
	with(func(p *Program) { p.EvalEvery, p.Patience, p.Plateau = 0, 0, 0 })
	with(func(p *Program) { p.Tests, p.Patience, p.Plateau = 0, 0, 0 })
	with(func(p *Program) { p.Period, p.Unseen = "", 0 })
	with(func(p *Program) { p.Publishes = false })
	with(func(p *Program) { p.Reloads = false })
	with(func(p *Program) { p.Model.More = twin.More{} })
	with(func(p *Program) { p.Deltas, p.User, p.Journal, p.Worse = 0, 0, false, false })
	with(func(p *Program) { p.Deltas, p.User = 0, 0 })
	with(func(p *Program) { p.Lost, p.Stands = "", false })
	with(func(p *Program) { p.Hook = 0 })
	with(func(p *Program) { p.Sharded = false })
	with(func(p *Program) {
		p.Epochs = max(2, p.Epochs-1)
		for i := range p.Lives {
			p.Lives[i].Epochs = min(p.Lives[i].Epochs, p.Epochs)
		}
	})
	with(func(p *Program) { p.Model.Samples = max(8, p.Model.Samples/2) })
	for i := range p.Lives {
		with(func(p *Program) { p.Lives[i].Servers = min(p.Lives[i].Servers, 1) })
		with(func(p *Program) { p.Lives[i].Threads = 0 })
		with(func(p *Program) { p.Lives[i].Epochs = 0 })
	}
	return all
}

// ledger are the rules of a job whose ledger alone has one of its own.
func (p Program) ledger() map[string]twin.Rule {
	return map[string]twin.Rule{twin.LedgerName: p.Rules.By[twin.LedgerName]}
}
