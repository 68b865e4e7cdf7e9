package deps_test

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestNoProgramIsCommitted reads the beginning of every file that git has: what a go build leaves in the tree is ignored, or it is in every
// clone for good.
func TestNoProgramIsCommitted(t *testing.T) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = "../.."
	names, err := list.Output()
	if err != nil {
		t.Log("this is no clone, or there is no git: ", err)
		return
	}
	begins := []string{"\x7fELF", "MZ\x90\x00", "\xcf\xfa\xed\xfe"}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		f, err := os.Open("../../" + name)
		if err != nil {
			continue // it is removed, and not committed so yet
		}
		head := make([]byte, 4)
		_, err = io.ReadFull(f, head)
		f.Close()
		if err == nil && slices.Contains(begins, string(head)) {
			t.Errorf("%s is a program: git rm --cached %s, and name it in .gitignore", name, name)
		}
	}
}
