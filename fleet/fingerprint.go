package fleet

import (
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/strategy"
)

// fingerprints are what the processes of a job compare: that of this build, and that of earlier builds, by which their
// journals identify the job. From the strategy the first has the mode and all fields that differ from the mode's
// defaults: a field that a later version adds separates processes only if it is set.
func (j *job) fingerprints() (now, before layout.Fingerprint) {
	workers := layout.Fact("workers", j.id.Workers)
	all, defaults := strategyFacts(j.strategy), strategyFacts(strategy.Strategy{Mode: j.strategy.Mode})
	before = j.layout.Printed(j.rule, append([]string{workers}, all...)...)
	set := slices.DeleteFunc(all, func(fact string) bool {
		return !strings.HasPrefix(fact, "strategy mode\t") && slices.Contains(defaults, fact)
	})
	return j.layout.Fingerprint(j.rule, append([]string{workers}, set...)...), before
}

// strategyFacts returns the fields of a strategy, one fact each.
func strategyFacts(s strategy.Strategy) (facts []string) {
	for _, line := range s.Lines() {
		field, value, _ := strings.Cut(strings.TrimPrefix(line, "strategy: "), " is ")
		facts = append(facts, layout.Fact("strategy "+field, value))
	}
	return facts
}
