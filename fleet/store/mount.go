package store

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// mounts are the stores of this process, by scheme.
var mounts struct {
	sync.RWMutex
	of map[string]Store
}

// schemes matches the schemes that Mount accepts. A scheme of one letter would be a drive.
var schemes = regexp.MustCompile(`^[a-z][a-z0-9+.-]+$`)

// Mount makes URLs of a scheme, such as "s3", refer to a store, in all of this process. A scheme can be mounted once;
// "file" can't be mounted.
func Mount(scheme string, s Store) error {
	mounts.Lock()
	defer mounts.Unlock()
	switch {
	case !schemes.MatchString(scheme) || scheme == "file":
		return fmt.Errorf("store: Mount(%q): a scheme is small letters and digits, as \"s3\" of s3://bucket/name",
			scheme)
	case s == nil:
		return fmt.Errorf("store: Mount(%q): the store is nil", scheme)
	case mounts.of[scheme] != nil:
		return fmt.Errorf("store: Mount(%q): %s:// has a store already: mount each scheme once, in main", scheme,
			scheme)
	}
	if mounts.of == nil {
		mounts.of = map[string]Store{}
	}
	mounts.of[scheme] = s
	return nil
}

// Unmount reverses Mount, for tests.
func Unmount(scheme string) {
	mounts.Lock()
	defer mounts.Unlock()
	delete(mounts.of, scheme)
}

// packages are this module's packages that mount a scheme.
var packages = map[string]string{"s3": "s3", "hdfs": "hadoop", "afs": "hadoop"}

// Of returns the store of a URL and the name in it.
func Of(url string) (s Store, name string, err error) {
	scheme, name, _ := strings.Cut(url, "://")
	scheme = strings.ToLower(scheme)
	mounts.RLock()
	defer mounts.RUnlock()
	if s = mounts.of[scheme]; s == nil {
		return nil, "", fmt.Errorf("%q is not a path on this machine, and no store is mounted for it: %s", url,
			advice(scheme))
	}
	return s, Clean(name), nil
}

// advice is the advice about a scheme that is not mounted. The lock is held.
func advice(scheme string) string {
	const local = "or mount it as a file system (NFS, FUSE), or copy from and to a local directory"
	if p := packages[scheme]; p != "" {
		return fmt.Sprintf("call %s.Mount at the beginning of main (import "+
			"\"github.com/gofleet/gofleet/fleet/store/%s\"), %s", p, p, local)
	}
	has := slices.Sorted(maps.Keys(mounts.of))
	if len(has) == 0 {
		return "this program has mounted none: see package fleet/store, " + local
	}
	return fmt.Sprintf("this program has mounted %s: see package fleet/store, %s", strings.Join(has, ", "), local)
}

// Clean returns the shortest form of a name in a store. A leading slash is kept: hdfs:///data has one.
func Clean(name string) string {
	if name = path.Clean(name); name == "." {
		return ""
	}
	return name
}
