package nn

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestFreshBinaryStarts builds a program that imports nn and runs it: the tensor package refuses to start with a Go release
// that its helper does not know, which only a start shows.
func TestFreshBinaryStarts(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command to build with")
	}
	binary := filepath.Join(t.TempDir(), "starts")
	if out, err := exec.CommandContext(t.Context(), goTool, "build", "-ldflags=-s -w", "-o", binary, "./testdata/starts").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), "ASSUME_NO_MOVING_GC_UNSAFE_RISK_IT_WITH=") // a way around the refusal
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "[2 3]\n" {
		t.Errorf("%v: %s", err, out)
	}
}
