package rolemaker

import (
	"context"
	"errors"
)

// RoleMaker tells a process who it is.
//
// Contract: Identity is quick, sends nothing, and gives the same answer each time. A role maker that does not know
// the servers' endpoints before the processes have met is a [Resolver] too; its Identity then has the right number of
// Servers, all of them "".
type RoleMaker interface {
	Identity() (Identity, error)
}

// Resolver is a role maker whose processes must meet to learn where the servers are. Resolve is called once in each
// process, returns the complete identity, and gives up when ctx ends with an error that says who is missing.
type Resolver interface {
	Resolve(ctx context.Context) (Identity, error)
}

// Resolve is the complete, validated identity that r gives, whether r is a [Resolver] or not.
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
