package peer

import (
	"cmp"
	"sync"
)

// All calls do for each of n peers, concurrently, and returns the error of the first peer, in their order, that failed.
func All(n int, do func(i int) error) error {
	switch n {
	case 0:
		return nil
	case 1:
		return do(0)
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n - 1 {
		wg.Go(func() { errs[i] = do(i) })
	}
	errs[n-1] = do(n - 1) // this goroutine has nothing else to do
	wg.Wait()
	return cmp.Or(errs...)
}
