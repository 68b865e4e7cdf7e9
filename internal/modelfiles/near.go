package modelfiles

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/gofleet/gofleet/internal/files"
)

// near suggests models near a directory that has none: below it, or else beside it, as a job's model is beside its
// checkpoint.
func near(dir string) string {
	if files.IsURL(dir) {
		return "" // in a store each would cost a request
	}
	models := func(dir string) []string {
		if Is(dir) {
			return []string{dir}
		}
		return nil
	}
	found := Below(dir, 2, models)
	if len(found) == 0 {
		found = Below(filepath.Dir(filepath.Clean(dir)), 1, models)
	}
	return DidYouMean(found)
}

// Below returns what holds returns for the directories in dir or, if that is nothing and levels is above 1, for the
// directories within those, and so on: a job leaves output/name/model.
func Below(dir string, levels int, holds func(dir string) []string) (found []string) {
	var dirs []string
	entries, _ := os.ReadDir(dir) // a directory that can't be read counts as empty
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	for _, d := range dirs {
		found = append(found, holds(d)...)
	}
	if len(found) > 0 || levels == 1 {
		return found
	}
	for _, d := range dirs {
		found = append(found, Below(d, levels-1, holds)...)
	}
	return found
}

// DidYouMean returns text to append to an error, which suggests directories; it is empty if there are none.
func DidYouMean(dirs []string) string {
	const most = 3
	more := ""
	if len(dirs) > most {
		dirs, more = dirs[:most], ", …"
	}
	if len(dirs) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(dirs, ", or ") + more + "?"
}
