package mistyped

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Refuse returns an error if name, a variable that nothing reads, was probably meant to be one of known.
func Refuse(prefix, name string, known []string) error {
	if k := meant(prefix, name, known); k != "" {
		return fmt.Errorf("%s is set, which nothing reads: did you mean %s? unset the one, or set the other", name, k)
	}
	return nil
}

// Unread returns the names of variables that begin with prefix, have a value and are not among known, sorted.
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
