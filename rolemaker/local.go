package rolemaker

// Local is a process that trains alone: worker 0 of 1, no servers, no network.
type Local struct{}

// Identity implements [RoleMaker].
func (Local) Identity() (Identity, error) { return Identity{Role: Worker, Workers: 1}, nil }
