package paddle

import (
	"fmt"
	"strings"

	"github.com/gofleet/gofleet/strategy"
)

// FromASync is the strategy that a_sync and k_steps of Fleet's DistributedStrategy stand for: sync if aSync is false,
// else async if k is 0, else geo. A file of a strategy may have the two as well: {"a_sync": true, "a_sync_configs":
// {"k_steps": 100}}.
func FromASync(aSync bool, k int) (strategy.Strategy, error) {
	return strategy.Read(strings.NewReader(fmt.Sprintf(`{"a_sync": %t, "a_sync_configs": {"k_steps": %d}}`, aSync, k)))
}

// AutoKSteps is the KSteps that Fleet chooses by itself.
const AutoKSteps = 800

// Auto chooses between geo and async as Fleet's auto does: geo with [AutoKSteps] if the rule is plain gradient descent
// and five times the bytes of a worker's model fit into the free bytes of its memory, async otherwise. Every process of
// a job must come to the same choice.
func Auto(plainSGD bool, modelBytes, freeBytes int64) strategy.Strategy {
	if plainSGD && modelBytes <= freeBytes/5 {
		return strategy.Geo(AutoKSteps)
	}
	return strategy.Async()
}
