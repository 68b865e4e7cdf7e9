package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/porttest"
)

// job is a process for each rank of a job on one machine.
func job(size int, where string) []Process {
	all := make([]Process, size)
	for r := range all {
		all[r] = Process{Rank: r, Size: size, Serves: r%2 == 0, Job: "job 1", OneMachine: true, Where: where}
	}
	return all
}

// outcome is what Meet gave one rank.
type outcome struct {
	endpoints []string
	err       error
}

// meetAll has all of them meet at once.
func meetAll(ctx context.Context, all []Process) []outcome {
	done := make([]chan outcome, len(all))
	for i, p := range all {
		done[i] = make(chan outcome, 1)
		go func() {
			endpoints, err := Meet(ctx, p)
			done[i] <- outcome{endpoints, err}
		}()
	}
	outcomes := make([]outcome, len(all))
	for i := range outcomes {
		outcomes[i] = <-done[i]
	}
	return outcomes
}

// within is a context that ends soon.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// checkAgreement wants one list on all ranks, an endpoint for each even one, and their ports free to listen on.
func checkAgreement(t *testing.T, all []outcome) {
	t.Helper()
	for r, o := range all {
		if o.err != nil {
			t.Fatalf("rank %d: %v", r, o.err)
		}
		if !slices.Equal(o.endpoints, all[0].endpoints) || len(o.endpoints) != len(all) {
			t.Errorf("rank %d knows %v, rank 0 knows %v", r, o.endpoints, all[0].endpoints)
		}
	}
	for r, e := range all[0].endpoints {
		if (e == "") != (r%2 == 1) {
			t.Errorf("rank %d has endpoint %q", r, e)
		}
		if e == "" {
			continue
		}
		l, err := net.Listen("tcp", e)
		if err != nil {
			t.Errorf("a server can't listen: %v", err)
			continue
		}
		l.Close()
	}
}

func TestRanksMeet(t *testing.T) {
	places := map[string]func(t *testing.T) string{
		"nowhere said":      func(t *testing.T) string { t.Setenv("TMPDIR", t.TempDir()); return "" },
		"a named host":      func(t *testing.T) string { return strings.Replace(porttest.Free(t, 1)[0], "127.0.0.1", "localhost", 1) },
		"a stale directory": func(t *testing.T) string { return "file://" + filepath.ToSlash(staleDir(t)) },
	}
	for name, place := range places {
		for _, size := range []int{2, 10} {
			t.Run(fmt.Sprint(name, ", ", size, " ranks"), func(t *testing.T) {
				checkAgreement(t, meetAll(within(t, time.Minute), job(size, place(t))))
			})
		}
	}
}

// staleDir is a directory with the address that an earlier run of the job has left, where another service listens by now.
func staleDir(t *testing.T) string {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	law.Check(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("220 mail.example.com ready\r\n"))
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	law.Check(t, os.WriteFile(filepath.Join(dir, fileName("job 1")), []byte(l.Addr().String()), 0o600))
	return dir
}

func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	checkAgreement(t, meetAll(within(t, time.Minute), job(4, "file://"+filepath.ToSlash(dir))))
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("the meeting left %v, error %v", left, err)
	}
}

func TestMissingRanksAreNamed(t *testing.T) {
	p := job(6, porttest.Free(t, 1)[0])[0]
	_, err := Meet(within(t, 50*time.Millisecond), p)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "rank 0 waited at "+p.Where) ||
		!strings.HasSuffix(err.Error(), "missing: rank 1, 2, 3, 4, 5") {
		t.Errorf("error %v", err)
	}
}

func TestRankZeroIsMissing(t *testing.T) {
	p := job(2, porttest.Free(t, 1)[0])[1]
	_, err := Meet(within(t, 200*time.Millisecond), p)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "rank 1 of 2 did not get through to rank 0 at "+p.Where) {
		t.Errorf("error %v", err)
	}
}

func TestCancelEndsTheMeeting(t *testing.T) {
	why := errors.New("the user pressed ^C")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for r, o := range meetAll(ctx, job(4, porttest.Free(t, 1)[0])) {
		if o.err == nil {
			t.Errorf("rank %d met nobody and knows %v", r, o.endpoints)
		}
	}
	if _, err := Meet(ctx, job(2, "file://"+filepath.ToSlash(t.TempDir()))[1]); !errors.Is(err, why) {
		t.Errorf("error %v does not give the cause", err)
	}
}

func TestTwoProcessesOfOneRank(t *testing.T) {
	all := job(4, porttest.Free(t, 1)[0])
	outcomes := meetAll(within(t, time.Minute), []Process{all[0], all[1], all[1]})
	if err := outcomes[0].err; err == nil || !strings.Contains(err.Error(), "two processes say that they are rank 1") {
		t.Errorf("rank 0: error %v", err)
	}
	for _, o := range outcomes[1:] {
		if o.err == nil || !strings.Contains(o.err.Error(), "rank 0 called the rendezvous off") {
			t.Errorf("rank 1: error %v", o.err)
		}
	}
}

func TestSomeoneListensAtTheRendezvous(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	law.Check(t, err)
	defer l.Close()
	_, err = Meet(t.Context(), job(2, l.Addr().String())[0])
	if err == nil || !strings.Contains(err.Error(), "rank 0 can't listen for the others") || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("error %v", err)
	}
}

// TestHostByDirectory: rank 0 is looked for at the name that it was given, where it tells of itself in a directory.
func TestHostByDirectory(t *testing.T) {
	all := job(2, "file://"+filepath.ToSlash(t.TempDir()))
	all[0].Host = "192.0.2.9" // an address that no machine has
	if err := meetAll(within(t, 300*time.Millisecond), all)[1].err; err == nil || !strings.Contains(err.Error(), "192.0.2.9") {
		t.Errorf("rank 1 looked for rank 0 elsewhere: %v", err)
	}
}

func TestMissingDirectory(t *testing.T) {
	where := "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "none"))
	_, err := Meet(t.Context(), job(2, where)[0])
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "rank 0 can't write for the rendezvous") {
		t.Errorf("error %v", err)
	}
}

// A directory in which others can write could hold anybody's address.
func TestDirectoryOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are of another kind")
	}
	t.Setenv("TMPDIR", t.TempDir())
	dir := Process{}.privatePlace().dir
	law.Check(t, os.Mkdir(dir, 0o700))
	law.Check(t, os.Chmod(dir, 0o777))
	for r, o := range meetAll(within(t, time.Minute), job(2, "")) {
		if o.err == nil || !strings.Contains(o.err.Error(), "is not a directory of this user's alone") {
			t.Errorf("rank %d: %v, error %v", r, o.endpoints, o.err)
		}
	}
}
