package mistyped

import (
	"os"
	"slices"
	"strings"
)

// Unread are the names of variables that begin with prefix, have a value and are not among known, in order.
func Unread(prefix string, known []string) (names []string) {
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, prefix) && strings.TrimSpace(value) != "" && !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
