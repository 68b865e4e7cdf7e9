package hadoop

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gofleet/gofleet/fleet/store"
)

const (
	idBytes = 16
	newMark = ".new" // of a file that is not under its name yet
	wasMark = ".was" // of the one before, while it is replaced
	copying = "._COPYING_"
)

// url returns the shell's name of a file.
func (s *Store) url(name string) string { return s.scheme + "://" + name }

// check returns an error for names that the shell would interpret.
func (s *Store) check(op, name string) error {
	_, path, _ := strings.Cut(name, "/") // behind the host
	if strings.ContainsAny(path, "*?[]{}\\:\r\n") {
		return &fs.PathError{Op: op, Path: s.url(name), Err: fmt.Errorf("a name for Hadoop's shell has none of "+
			"* ? [ ] { } \\ and :, which it takes for patterns and hosts: %w", fs.ErrInvalid)}
	}
	return nil
}

// hidden returns the name of the file beside another for one put, or for any put with anyID.
func hidden(name, id, mark string) string {
	dir, base := path.Split(name)
	return dir + "." + base + "." + id + mark
}

// anyID is the pattern of an id.
var anyID = strings.Repeat("?", idBytes)

func newID() string { return rand.Text()[:idBytes] }

// beside divides the name of a file beside another into its parts; the mark is empty for other files.
func beside(base string) (of, id, mark string) {
	rest, is := strings.CutPrefix(strings.TrimSuffix(base, copying), ".")
	for _, mark := range []string{newMark, wasMark} {
		if rest, ends := strings.CutSuffix(rest, mark); is && ends && len(rest) > idBytes+1 {
			if at := len(rest) - idBytes; rest[at-1] == '.' {
				return rest[:at-1], rest[at:], mark
			}
		}
	}
	return base, "", ""
}

// newest returns the file that was changed last.
func newest(all []store.Info) (last store.Info) {
	for _, i := range all {
		if last.Name == "" || i.Modified.After(last.Modified) {
			last = i
		}
	}
	return last
}
