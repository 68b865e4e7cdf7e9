package mistyped

import (
	"slices"
	"testing"
)

func TestUnread(t *testing.T) {
	t.Setenv("ENVIRONTEST_B", "1")
	t.Setenv("ENVIRONTEST_A", "x")
	t.Setenv("ENVIRONTEST_KNOWN", "x")
	t.Setenv("ENVIRONTEST_BLANK", " ")
	if got := Unread("ENVIRONTEST_", []string{"ENVIRONTEST_KNOWN"}); !slices.Equal(got, []string{"ENVIRONTEST_A", "ENVIRONTEST_B"}) {
		t.Errorf("unread %q", got)
	}
}
