package twin

import (
	"fmt"
	"path/filepath"
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
	r.store, r.place = storetest.NewMemory(), scheme+"://bucket/job"
	return func() { store.Unmount(scheme) }, store.Mount(scheme, r.store)
}

// key is what the store calls a file.
func (r *run) key(name string) string {
	_, key, _ := strings.Cut(name, "://")
	return key
}

// files are those of a directory whose names fit a pattern.
func (r *run) files(dir, pattern string) (all []string, err error) {
	if r.store == nil {
		return filepath.Glob(filepath.Join(dir, pattern))
	}
	for _, name := range r.store.Names() {
		if fits, err := filepath.Match(r.key(dir)+"/"+pattern, name); err != nil {
			return nil, err
		} else if fits {
			all = append(all, r.place[:strings.Index(r.place, "://")]+"://"+name)
		}
	}
	return all, nil
}
