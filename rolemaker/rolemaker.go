package rolemaker

import (
	"context"
	"errors"
)

// RoleMaker determines the role of the calling process.
//
// Contract: Identity is fast, does not use the network, and returns the same answer each time. A role maker that does
// not know the servers' endpoints before the processes have met also implements [Resolver]; its Identity then has the
// right number of Servers, each "".
type RoleMaker interface {
	Identity() (Identity, error)
}

// Resolver is a role maker whose processes must meet to learn where the servers are. Resolve is called once in each
// process and returns the complete identity. If ctx ends first, its error names the missing processes.
type Resolver interface {
	Resolve(ctx context.Context) (Identity, error)
}

// Resolve returns the complete, validated identity of r, whether or not r is a [Resolver].
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
	if resolver, ok := r.(Resolver); ok {
		return resolver.Resolve(ctx)
	}
	return r.Identity()
}
