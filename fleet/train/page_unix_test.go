//go:build unix

package train_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/porttest"
)

// look is what a page's /job.json has of a job.
type look struct {
	State    string
	Findings []struct{ What string }
	Roles    []struct {
		Kind, State string
		Index       int
		Rate        float64
	}
	Training *struct {
		Curves []struct{ Points [][2]float64 }
		Marks  []struct{ Kind string }
	}
}

// trains says whether all of so many roles run, workers train, and curves are there.
func (l look) trains(roles int) bool {
	for _, r := range l.Roles {
		if r.State != "runs" || r.Kind == "worker" && r.Rate == 0 {
			return false
		}
	}
	return len(l.Roles) == roles && l.State == "trains" && l.Training != nil && len(l.Training.Curves) > 0 && len(l.Training.Curves[0].Points) > 2
}

// ask asks a page, with a token unless it is empty.
func ask(t *testing.T, url, token string) (l look, status int, body []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/job.json", nil)
	law.Check(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return l, 0, nil
	}
	defer a.Body.Close()
	if body, err = io.ReadAll(a.Body); err == nil && a.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, &l)
	}
	if err != nil {
		t.Errorf("%s: %v", url, err)
	}
	return l, a.StatusCode, body
}

// until looks at a page until it is as it should be, for a minute at most.
func until(t *testing.T, url, token, what string, is func(look) bool) (last look) {
	t.Helper()
	again := time.NewTicker(300 * time.Millisecond)
	defer again.Stop()
	for range 200 {
		if last, _, _ = ask(t, url, token); is(last) {
			return last
		}
		<-again.C
	}
	t.Fatalf("%s is not shown, but %+v", what, last)
	return last
}

// begin starts this test's binary as a program that trains until the test ends.
func begin(t *testing.T, dir string, args []string, env ...string) *exec.Cmd {
	t.Helper()
	c, _ := launch(t, dir, exec.Command(os.Args[0], args...), append(env, victim+"=none", signalled+"=1")...)
	return c
}

// launch starts a command, which ends with the test.
func launch(t *testing.T, dir string, c *exec.Cmd, env ...string) (*exec.Cmd, *trial.Log) {
	t.Helper()
	out := new(trial.Log)
	c.Dir, c.Stdout, c.Stderr = dir, out, out
	c.Env = append(os.Environ(), env...)
	law.Check(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			text := out.String()
			t.Logf("%v said:\n%s", env, text[max(0, len(text)-2000):])
		}
	})
	return c, out
}

// watched starts fleetrun watch, and returns the address and the token of its page.
func watched(t *testing.T, token string, places ...string) (url, by string) {
	t.Helper()
	_, out := launch(t, t.TempDir(), exec.Command(builtFleetrun(t), append([]string{"watch", "--ui=:0"}, places...)...), "FLEET_UI_TOKEN="+token)
	shown := regexp.MustCompile(`the job is shown at (http://127\.0\.0\.1:\d+)/\?token=(\S+)`)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for range 1200 {
		if at := shown.FindStringSubmatch(out.String()); at != nil {
			return at[1], at[2]
		}
		<-again.C
	}
	t.Fatal("fleetrun watch shows nothing")
	return "", ""
}

// TestAPageOfProcesses: fleetrun watch shows the processes of a job that it has not started, and has a worker that stands still as silent;
// server 0 is killed, is away, comes back from its journal, and is there again. Nobody looks without the token, which is not in what is shown.
func TestAPageOfProcesses(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	dir, token := t.TempDir(), "the-token-of-this-test"
	free := porttest.Free(t, 6)
	servers, places := free[:2], free[2:]
	args := []string{"-checkpoint=" + filepath.Join(dir, "ck"), "-journal=" + filepath.Join(dir, "journal")}
	env := func(i int, role ...string) []string {
		return append(role, "PADDLE_PSERVERS_IP_PORT_LIST="+strings.Join(servers, ","), "PADDLE_TRAINERS_NUM=2", "FLEET_METRICS="+places[i], "FLEET_UI_TOKEN="+token)
	}
	server := func(i int) *exec.Cmd {
		host, port, _ := strings.Cut(servers[i], ":")
		return begin(t, dir, args, env(i, "TRAINING_ROLE=PSERVER", "POD_IP="+host, "PADDLE_PORT="+port)...)
	}
	worker := func(i int) *exec.Cmd {
		return begin(t, dir, args, env(2+i, "TRAINING_ROLE=TRAINER", fmt.Sprint("PADDLE_TRAINER_ID=", i))...)
	}
	first := server(0)
	server(1)
	worker(0)
	second := worker(1)
	url, _ := watched(t, token, places...)
	before := until(t, url, token, "the job", func(l look) bool { return l.trains(4) })
	if _, status, body := ask(t, url, ""); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", status, body)
	}
	if _, _, body := ask(t, url, token); bytes.Contains(body, []byte(token)) {
		t.Errorf("the token is shown: %s", body)
	}
	signal := func(c *exec.Cmd, s syscall.Signal) {
		law.Check(t, c.Process.Signal(s))
	}
	signal(second, syscall.SIGSTOP)
	until(t, url, token, "the worker that stands still", func(l look) bool {
		return len(l.Findings) > 0 && strings.HasPrefix(l.Findings[0].What, "worker 1 runs and has not answered for ") && l.Roles[3].State == "silent"
	})
	signal(second, syscall.SIGCONT)
	until(t, url, token, "the job that goes on", func(l look) bool { return l.trains(4) })
	signal(first, syscall.SIGKILL)
	_ = first.Wait()
	until(t, url, token, "a server that is away", func(l look) bool { return l.Roles[0].State == "away" })
	server(0)
	after := until(t, url, token, "the job behind the kill", func(l look) bool { return l.trains(4) })
	was, is := before.Training.Curves[0].Points, after.Training.Curves[0].Points
	if is[0][0] > was[len(was)-1][0] || is[len(is)-1][0] <= was[len(was)-1][0] { // it goes on, with fewer points the longer it is
		t.Errorf("the curve had %v, and has %v behind the kill", was, is)
	}
}

// TestAPageAlone: fleetrun watch shows a program alone on its machine without a token of the program's, its own page with one that it prints, and
// checkpoints on the curves.
func TestAPageAlone(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	dir, place := t.TempDir(), porttest.Free(t, 1)[0]
	begin(t, dir, []string{"-checkpoint=" + filepath.Join(dir, "ck")}, "FLEET_METRICS="+place, "FLEET_UI_TOKEN=")
	url, token := watched(t, "", place)
	until(t, url, token, "the program", func(l look) bool {
		return l.trains(1) && len(l.Training.Marks) > 0 && l.Training.Marks[len(l.Training.Marks)-1].Kind == "checkpoint"
	})
}
