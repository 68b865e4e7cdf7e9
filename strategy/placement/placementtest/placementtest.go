// Package placementtest tests implementations of [placement.Policy]. The policies of this module pass it, and your own
// should too:
//
//	func TestMyPolicy(t *testing.T) {
//		if err := placementtest.Check(mine.Policy{}); err != nil {
//			t.Fatal(err)
//		}
//	}
package placementtest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/gofleet/gofleet/strategy/placement"
)

// Check places models of many shapes on 1 to 17 servers and returns all violations of the contract: a missing name, a
// wrong number of servers, a server that does not exist, blocks changed, or answers that depend on anything but the
// arguments.
func Check(p placement.Policy) error {
	if p.Name() == "" {
		return errors.New("placementtest: the policy has no name")
	}
	if first, again := p.Name(), p.Name(); first != again {
		return fmt.Errorf("placementtest: the policy is called %q and then %q", first, again)
	}
	var errs []error
	for _, m := range models() {
		for _, servers := range []int{1, 2, 3, 4, 8, 17} {
			errs = append(errs, wrap(m.name, servers, check(p, m.blocks(servers), servers)))
		}
	}
	return errors.Join(errs...)
}

func wrap(model string, servers int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("placementtest: %s on %d servers: %w", model, servers, err)
}

func check(p placement.Policy, blocks []placement.Block, servers int) error {
	given := copyOf(blocks)
	first := p.Place(given, servers)
	if !reflect.DeepEqual(given, blocks) {
		return errors.New("the policy changed the blocks")
	}
	if err := valid(first, blocks, servers); err != nil {
		return err
	}
	return repeat(p, blocks, servers, first)
}

func valid(at []int, blocks []placement.Block, servers int) error {
	if len(at) != len(blocks) {
		return fmt.Errorf("the policy placed %d of %d blocks", len(at), len(blocks))
	}
	for i, s := range at {
		if s < 0 || s >= servers {
			return fmt.Errorf("block %q is on server %d", blocks[i].Name, s)
		}
	}
	return nil
}

// repeat asks again, from several goroutines after a call for another model, and wants the first answer.
func repeat(p placement.Policy, blocks []placement.Block, servers int, want []int) error {
	p.Place(placement.Slice("other", []int{40000}, servers+1, 8192), servers+1)
	answers := make([][]int, 4)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = p.Place(copyOf(blocks), servers) })
	}
	wg.Wait()
	for _, got := range answers {
		if !slices.Equal(got, want) {
			return fmt.Errorf("the same blocks went to %v and then to %v; Place must depend on its arguments alone",
				want, got)
		}
	}
	return nil
}

func copyOf(blocks []placement.Block) []placement.Block {
	blocks = slices.Clone(blocks)
	for i := range blocks {
		blocks[i].Shape = slices.Clone(blocks[i].Shape)
	}
	return blocks
}
