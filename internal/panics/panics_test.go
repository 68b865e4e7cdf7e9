package panics_test

import (
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/panics"
)

// TestErrorNamesTheLine: the error of a panic has its value and the line at which it began, whether the program, the
// runtime or the processor found what is wrong.
func TestErrorNamesTheLine(t *testing.T) {
	var none []int
	one := len(t.Name()[:1])
	var nowhere *int
	for what, c := range map[string]struct {
		do   func()
		want string
	}{
		"a program's panic":    {func() { panic("no") }, "it panicked: no ("},
		"an index":             {func() { _ = none[one] }, "it panicked: runtime error: index out of range [1] with length 0 ("},
		"a nil pointer":        {func() { *nowhere = 1 }, "it panicked: runtime error: invalid memory address or nil pointer dereference ("},
		"a panic in a library": {func() { _ = strings.Repeat("x", -one) }, "it panicked: strings: negative Repeat count (strings.Repeat, strings.go:"},
	} {
		err := recovered(c.do)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v does not begin with %q", what, err, c.want)
			continue
		}
		own := strings.Contains(err.Error(), "TestErrorNamesTheLine.func") && strings.Contains(err.Error(), ", panics_test.go:")
		if !own && what != "a panic in a library" {
			t.Errorf("%s: %v does not name the line", what, err)
		}
	}
}

func recovered(do func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panics.Error("it", v)
		}
	}()
	do()
	return nil
}
