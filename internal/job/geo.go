package job

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

// checkGeo refuses what mode geo can't train: its workers send differences of weights, which add up only if the rule is
// plain gradient descent, and each worker holds every row.
func checkGeo(params []*optimizer.Param, rule optimizer.Rule) error {
	for _, p := range params {
		r := rules.For(rule, p)
		for {
			w, ok := r.(optimizer.Wrapper)
			if !ok {
				break
			}
			r = w.Unwrap()
		}
		if _, ok := r.(optimizer.SGD); !ok && r != nil {
			return fmt.Errorf("mode geo trains with optimizer.SGD alone, and %q has %s: its workers exchange "+
				"differences of weights, which can't be applied by a rule with state; choose another mode or rule",
				p.Name, r.Name())
		}
		if p.Embedding && (p.Entry != (optimizer.Entry{}) || p.MaxBytes != 0) {
			return fmt.Errorf("mode geo keeps every row of %q on every worker, so leave its Entry and MaxBytes unset",
				p.Name)
		}
	}
	return nil
}
