package twin

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/fleet/store/storetest"
)

// at is where a directory of checkpoints or a model lies: on this machine, or in the store of the program.
func (r *run) at(dir string) string {
	if strings.HasPrefix(dir, r.place) {
		return dir
	}
	return r.place + "/" + dir
}

// recovery is where a leg whose servers come back has its checkpoints.
func (r *run) recovery(leg int) string { return r.at(fmt.Sprintf("recovery-%d", leg)) }

// stores counts those that were mounted.
var stores atomic.Int64

// mount gives the program a store of its own.
func (r *run) mount() (unmount func(), err error) {
	scheme := fmt.Sprintf("twin%d", stores.Add(1))
	r.place = scheme + "://bucket/job"
	return func() { store.Unmount(scheme) }, store.Mount(scheme, storetest.NewMemory())
}
