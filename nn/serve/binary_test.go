package serve

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestScoringLinksNoTraining: a program that only scores has the forward pass of ops in it, and neither their backward pass nor the training loop.
func TestScoringLinksNoTraining(t *testing.T) {
	law.Slow(t)
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command to build with")
	}
	binary := filepath.Join(t.TempDir(), "score")
	if out, err := exec.CommandContext(t.Context(), goTool, "build", "-o", binary, "./testdata/score").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	symbols, err := exec.CommandContext(t.Context(), goTool, "tool", "nm", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`nn\.linear\.forward`).Match(symbols) {
		t.Error("no op is linked: the test sees nothing")
	}
	if found := regexp.MustCompile(`nn\.\S+\.(backward|Train|TrainFrom)\s`).FindAll(symbols, 3); found != nil {
		t.Errorf("training is linked: %s", found)
	}
}
