package rules

import "github.com/gofleet/gofleet/optimizer"

// For returns the rule that trains a param: its own in a [optimizer.PerParam], otherwise r; nil for a frozen param.
func For(r optimizer.Rule, p *optimizer.Param) optimizer.Rule {
	if p.Frozen {
		return nil
	}
	if per, ok := find[optimizer.PerParam](r); ok {
		if own, ok := per.By[p.Name]; ok {
			return own
		}
		return per.Rule
	}
	return r
}
