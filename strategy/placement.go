package strategy

import (
	"fmt"

	"github.com/gofleet/gofleet/strategy/placement"
)

// PlacementOptions returns the strategy's options for [placement.New]. own are the program's policies, which Placement
// can name in addition to those of package placement.
func (s Strategy) PlacementOptions(own ...placement.Policy) (placement.Options, error) {
	s = s.WithDefaults()
	p, err := policy(s.Placement, append(placement.Policies(), own...))
	if err != nil {
		return placement.Options{}, err
	}
	return placement.Options{
		Policy:       p,
		MinBlockSize: s.MinBlockSize,
		SmallBlocks:  s.SmallBlocks,
		NoSlice:      s.NoSlice,
	}, nil
}

// policy finds the one of that name and refuses two of one name.
func policy(name string, all []placement.Policy) (found placement.Policy, err error) {
	var names []string
	seen := make(map[string]bool, len(all))
	for _, p := range all {
		n := p.Name()
		if seen[n] {
			return nil, fmt.Errorf("strategy: two placement policies are called %q (%T is one); rename yours", n, p)
		}
		seen[n] = true
		names = append(names, n)
		if n == name {
			found = p
		}
	}
	if found == nil {
		return nil, fmt.Errorf("strategy: unknown placement %q; want %s", name, list(names))
	}
	return found, nil
}
