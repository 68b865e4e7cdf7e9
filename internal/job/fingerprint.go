package job

import (
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/strategy"
)

// compared returns the fingerprint by which the processes of a job compare what they build. From the strategy it has
// the mode and all fields that differ from the mode's defaults: a field that a later version adds separates processes
// only if it is set.
func (j *Job) compared() layout.Fingerprint {
	all, defaults := strategyFacts(j.Strategy), strategyFacts(strategy.Strategy{Mode: j.Strategy.Mode})
	set := slices.DeleteFunc(all, func(fact string) bool {
		return !strings.HasPrefix(fact, "strategy mode\t") && slices.Contains(defaults, fact)
	})
	return j.Layout.Fingerprint(j.Rule, append([]string{layout.Fact("workers", j.ID.Workers)}, set...)...)
}

// strategyFacts returns the fields of a strategy, one fact each.
func strategyFacts(s strategy.Strategy) (facts []string) {
	for _, line := range s.Lines() {
		field, value, _ := strings.Cut(strings.TrimPrefix(line, "strategy: "), " is ")
		facts = append(facts, layout.Fact("strategy "+field, value))
	}
	return facts
}
