package replica

import "github.com/gofleet/gofleet/optimizer"

// rateOf is the learning rate of a rule after so many updates.
func rateOf(r optimizer.Rule, updates int) float64 {
	lr, schedule := 0.0, optimizer.Schedule(nil)
	switch r := r.(type) {
	case optimizer.SGD:
		lr, schedule = r.LR, r.Schedule
	case optimizer.Momentum:
		lr, schedule = r.LR, r.Schedule
	case optimizer.Wrapper:
		return rateOf(r.Unwrap(), updates)
	}
	switch {
	case schedule != nil:
		return schedule.Rate(int64(updates))
	case lr == 0:
		return 0.001
	}
	return lr
}
