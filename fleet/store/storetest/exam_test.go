package storetest_test

import (
	"testing"

	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/fleet/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) (store.Store, string) { return storetest.NewMemory(), "bucket/dir" })
}
