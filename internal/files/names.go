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

// ErrChanged says that a file of a store is not of the version that was named, or is there where none should be.
var ErrChanged = store.ErrChanged

// url is how names begin that are in a store.
var url = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://`)

// IsURL says whether a name is in a store, and not on this machine.
func IsURL(name string) bool { return url.MatchString(name) }

// Check refuses the name of a file or directory that is neither of this machine nor of a store that is mounted. The
// error does not say who refuses.
func Check(name string) error {
	if err := CheckLocal(name); err == nil || !IsURL(name) || strings.EqualFold(url.FindString(name), "file://") {
		return err
	}
	_, _, err := store.Of(name)
	return err
}

// Beat is how often a job that holds a directory of a store says so there; 0 where the store says nothing.
func Beat(name string) time.Duration {
	s, _, err := store.Of(name)
	if err != nil {
		return 0
	}
	return store.CostsOf(s).Beat
}

// parts are what a URL begins with and the name in its store; before is empty for a name of this machine.
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

// Match is the files that a pattern names, in the order of their names: of this machine by filepath.Glob, of a store
// where only what follows the last slash is a pattern. A name that is no pattern is itself.
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
