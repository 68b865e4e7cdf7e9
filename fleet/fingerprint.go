package fleet

import (
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/strategy"
)

// fingerprints are what the processes of a job compare, and what builds before compared, by which their journals name
// the job. Of the strategy the first has the mode and what is not that mode's default: a field that a later version
// adds keeps processes apart only where it is set.
func (j *job) fingerprints() (now, before layout.Fingerprint) {
	workers := layout.Fact("workers", j.id.Workers)
	all, defaults := strategyFacts(j.strategy), strategyFacts(strategy.Strategy{Mode: j.strategy.Mode})
	before = j.layout.Printed(j.rule, append([]string{workers}, all...)...)
	set := slices.DeleteFunc(all, func(fact string) bool {
		return !strings.HasPrefix(fact, "strategy mode\t") && slices.Contains(defaults, fact)
	})
	return j.layout.Fingerprint(j.rule, append([]string{workers}, set...)...), before
}

// strategyFacts are the fields of a strategy, a fact each.
func strategyFacts(s strategy.Strategy) (facts []string) {
	for _, line := range s.Lines() {
		field, value, _ := strings.Cut(strings.TrimPrefix(line, "strategy: "), " is ")
		facts = append(facts, layout.Fact("strategy "+field, value))
	}
	return facts
}
