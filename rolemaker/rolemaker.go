package rolemaker

import (
	"context"
	"errors"
)

// RoleMaker determines the role of the calling process.
//
// Contract: Identity is fast, does not use the network, and returns the same answer each time. A role maker that does
// not know the servers' endpoints before the processes have met has a method Resolve(ctx) (Identity, error), which is
// called once in each process and returns the complete identity: its Identity has the right number of Servers, each "".
// If ctx ends first, the error of Resolve names the missing processes.
type RoleMaker interface {
	Identity() (Identity, error)
}

// Resolve returns the complete, validated identity of r, whether or not its processes must meet.
func Resolve(ctx context.Context, r RoleMaker) (Identity, error) {
	if r == nil {
		return Identity{}, errors.New("rolemaker: no role maker; FromEnvironment(nil) finds one")
	}
	id, err := resolve(ctx, r)
	if err != nil {
		return Identity{}, err
	}
	if err := id.Validate(); err != nil {
		return Identity{}, err
	}
	return id, nil
}

func resolve(ctx context.Context, r RoleMaker) (Identity, error) {
	if meets, ok := r.(interface {
		Resolve(ctx context.Context) (Identity, error)
	}); ok {
		return meets.Resolve(ctx)
	}
	return r.Identity()
}
