//go:build unix

package train_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
)

// TestCheckOfAPipe: rows of a named pipe, which has them once, are looked at without a second reading of their texts, which would wait
// for ever.
func TestCheckOfAPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	text := csvOf(people(300, func(_ int, p *person) { p.city = "Rome" }))
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, []byte(text), 0o600) }()
	report := lookAtPeople(t, "CSV", nil, func(_ []dataset.CSVColumn, f *train.Files) { f.Paths = []string{pipe} })
	if said := report.String(); !strings.Contains(said, `feed "names" is the same in every row`) || len(report.Findings) != 1 {
		t.Error(said)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}
