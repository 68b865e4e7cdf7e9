package files

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
)

// ErrChanged is the error of a write to a store whose condition does not hold: the file has another version, or exists
// where it should be absent.
var ErrChanged = store.ErrChanged

// url matches the beginning of names in a store.
var url = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://`)

// IsURL reports whether a name is in a store, and not on this machine.
func IsURL(name string) bool { return url.MatchString(name) }

// Check returns an error for a name that is neither of this machine nor in a mounted store. The error does not name the
// caller.
func Check(name string) error {
	if err := CheckLocal(name); err == nil || !IsURL(name) || strings.EqualFold(url.FindString(name), "file://") {
		return err
	}
	_, _, err := store.Of(name)
	return err
}

// Beat returns the interval at which a job that holds a directory of a store renews its lease there; 0 if the store
// sets none.
func Beat(name string) time.Duration {
	s, _, err := store.Of(name)
	if err != nil {
		return 0
	}
	return costs(s).Beat
}

// costs returns what requests to a store cost.
func costs(s store.Store) (c store.Costs) {
	if says, is := s.(interface{ Costs() store.Costs }); is {
		c = says.Costs()
	}
	return c
}

// parts splits a URL into its beginning and the name in its store; before is empty for a name of this machine.
func parts(name string) (before, rest string) {
	before = url.FindString(name)
	return before, name[len(before):]
}

// Join is filepath.Join, for URLs too.
func Join(dir string, more ...string) string {
	before, rest := parts(dir)
	if before == "" {
		return filepath.Join(append([]string{dir}, more...)...)
	}
	return before + path.Join(append([]string{rest}, more...)...)
}

// Dir is filepath.Dir, for URLs too.
func Dir(name string) string {
	before, rest := parts(name)
	if before == "" {
		return filepath.Dir(name)
	}
	return before + store.Clean(path.Dir(rest))
}

// Base is filepath.Base, for URLs too.
func Base(name string) string {
	before, rest := parts(name)
	if before == "" {
		return filepath.Base(name)
	}
	return path.Base(rest)
}

// Clean is filepath.Clean, for URLs too.
func Clean(name string) string {
	before, rest := parts(name)
	if before == "" {
		return filepath.Clean(name)
	}
	return before + store.Clean(rest)
}

// Abs is filepath.Abs, for URLs too.
func Abs(name string) (string, error) {
	if IsURL(name) {
		return Clean(name), nil
	}
	return filepath.Abs(name)
}

// Match returns the files that match a pattern, by name: on this machine by filepath.Glob; in a store, where only the
// last element may be a pattern. A name without a pattern matches itself.
func Match(pattern string) ([]string, error) {
	if !IsURL(pattern) {
		return filepath.Glob(pattern)
	}
	dir, last := Dir(pattern), Base(pattern)
	if strings.ContainsAny(dir, `*?[`) {
		return nil, fmt.Errorf("%s: only what follows the last slash of a URL may be a pattern", pattern)
	}
	entries, err := ReadDir(dir)
	var names []string
	for _, e := range entries {
		is, bad := path.Match(last, e.Name())
		if bad != nil {
			return nil, fmt.Errorf("%s: %w", pattern, bad)
		}
		if is && !e.IsDir() {
			names = append(names, Join(dir, e.Name()))
		}
	}
	return names, err
}
