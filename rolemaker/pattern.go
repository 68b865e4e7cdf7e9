package rolemaker

import (
	"fmt"
	"strconv"
	"strings"
)

// maxMembers bounds the entries that a pattern expands to.
const maxMembers = 1 << 14

// expand writes out the pattern in an entry, as shells do: "ps-{0..2}.ps:36000" is three endpoints, and {08..11} has
// numbers of two digits.
func expand(entry string) ([]string, error) {
	before, rest, found := strings.Cut(entry, "{")
	if !found {
		return []string{entry}, nil
	}
	text, after, closed := strings.Cut(rest, "}")
	first, last, dots := strings.Cut(text, "..")
	from, err := strconv.ParseUint(first, 10, 31)
	to, err2 := strconv.ParseUint(last, 10, 31)
	switch {
	case !closed || !dots || err != nil || err2 != nil || to < from:
		return nil, fmt.Errorf("invalid pattern %q; want {0..3}, from the first number to the last", entry)
	case to-from >= maxMembers:
		return nil, fmt.Errorf("%q stands for more than %d entries", entry, maxMembers)
	}
	ends, err := expand(after)
	if err != nil {
		return nil, err
	}
	var all []string
	for n := from; n <= to; n++ {
		for _, end := range ends {
			all = append(all, fmt.Sprintf("%s%0*d%s", before, width(first), n, end))
		}
		if len(all) > maxMembers {
			return nil, fmt.Errorf("%q stands for more than %d entries", entry, maxMembers)
		}
	}
	return all, nil
}

// width is the least number of digits in the numbers of a pattern.
func width(first string) int {
	if strings.HasPrefix(first, "0") {
		return len(first)
	}
	return 1
}
