package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/journal"
)

// TestAJournalThatAnotherHas: a server whose journal another process holds says so in its log while it waits, and whose
// it is, then gives up.
func TestAJournalThatAnotherHas(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system has no such locks")
	}
	o := journal.Options{Dir: t.TempDir(), Name: "j"}
	first, err := journal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	who := fmt.Sprintf("process %d on host ", os.Getpid())
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		_, err := openJournal(context.Background(), slog.New(slog.NewTextHandler(&out, nil)), o)
		if !errors.Is(err, journal.ErrLocked) || !strings.Contains(err.Error(), who) {
			t.Errorf("%v, want ErrLocked with %q", err, who)
		}
		if said := out.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "can't begin yet") || !strings.Contains(said, who) {
			t.Errorf("the log is %q", said)
		}
	})
}
