package placementtest_test

import (
	"fmt"

	"github.com/gofleet/gofleet/strategy/placement"
	"github.com/gofleet/gofleet/strategy/placement/placementtest"
)

// A policy of one's own is examined as the package's are.
func ExampleCheck() {
	fmt.Println(placementtest.Check(placement.HashName{}))
	// Output: <nil>
}
