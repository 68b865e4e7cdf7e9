package lr

// A Schedule gives the learning rate over time: Rate(n) is the rate after n updates, so the first update uses Rate(0).
// A schedule is plain data, the same on every worker and server: its type and fields are compared with the rule's, and
// as there pointers and functions are refused; [LambdaDecay] takes a function by name. [Every] makes a schedule count
// epochs, or any other number of updates, in place of updates.
//
// Rules accept a schedule in place of a constant:
//
//	optimizer.SGD{Schedule: lr.ExponentialDecay{LR: 0.1, Gamma: 0.9}}
type Schedule interface {
	Rate(n int64) float64
}

// or returns v, the default if v is 0, and 0 if v is −1, which stands for 0.
func or(v, def float64) float64 {
	switch v {
	case 0:
		return def
	case -1:
		return 0
	}
	return v
}
