package train

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// TestOldListsGo: of the lists of days those go behind which 600 days have begun, and no other file does.
func TestOldListsGo(t *testing.T) {
	t.Parallel()
	d := &days{Days: &Days{}, dir: filepath.Join(t.TempDir(), "days"), begun: 5}
	law.Check(t, d.forget()) // also where there are none
	for epoch := range 700 {
		_, err := d.write(epoch, &dayList{Name: "0412"})
		law.Check(t, err)
	}
	others := []string{"000001-notes", "01-a.json", "notes.json"}
	for _, name := range others {
		law.Check(t, os.WriteFile(filepath.Join(d.dir, name), nil, 0o666))
	}
	for _, begun := range []int{600, 640, 700} {
		d.begun = begun
		law.Check(t, d.forget())
		entries, err := os.ReadDir(d.dir)
		law.Check(t, err)
		if want := min(700, 1300-begun) + len(others); len(entries) != want {
			t.Errorf("%d days have begun, and %d files are left, want %d", begun, len(entries), want)
		}
		for epoch := begun - 600; epoch < 700; epoch++ {
			begins := func(e os.DirEntry) bool { return e.Name()[:min(7, len(e.Name()))] == listName(epoch) }
			if !slices.ContainsFunc(entries, begins) {
				t.Errorf("%d days have begun, and the list of day %d is gone", begun, epoch)
			}
		}
	}
}
