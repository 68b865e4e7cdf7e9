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
	if err != nil {
		t.Fatal(err)
	}
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
func begin(t *testing.T, dir string, args []string, env ...string) (*exec.Cmd, *trial.Log) {
	t.Helper()
	c, out := exec.Command(os.Args[0], args...), new(trial.Log)
	c.Dir, c.Stdout, c.Stderr = dir, out, out
	c.Env = append(append(os.Environ(), victim+"=none", signalled+"=1"), env...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
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

// TestAPageOfProcesses: FLEET_UI is given to all processes of a job that nothing but itself holds together. Server 0's page shows them, and has
// a worker that stands still as silent; server 0 is killed, comes back from its journal, and the page is there again with its curves. Nobody
// looks without the token, which is not in what is shown, nor by another host's name.
func TestAPageOfProcesses(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	dir, token := t.TempDir(), "the-token-of-this-test"
	free := porttest.Free(t, 3)
	ui, servers := free[0], free[1:]
	args := []string{"-checkpoint=" + filepath.Join(dir, "ck"), "-journal=" + filepath.Join(dir, "journal")}
	env := []string{"PADDLE_PSERVERS_IP_PORT_LIST=" + strings.Join(servers, ","), "PADDLE_TRAINERS_NUM=2", "FLEET_UI=" + ui, "FLEET_UI_TOKEN=" + token}
	server := func(i int) *exec.Cmd {
		host, port, _ := strings.Cut(servers[i], ":")
		c, _ := begin(t, dir, args, append(env, "TRAINING_ROLE=PSERVER", "POD_IP="+host, "PADDLE_PORT="+port)...)
		return c
	}
	worker := func(i int) *exec.Cmd {
		c, _ := begin(t, dir, args, append(env, "TRAINING_ROLE=TRAINER", fmt.Sprint("PADDLE_TRAINER_ID=", i))...)
		return c
	}
	first := server(0)
	server(1)
	worker(0)
	second := worker(1)
	url := "http://" + ui
	before := until(t, url, token, "the job", func(l look) bool { return l.trains(4) })
	if _, status, body := ask(t, url, ""); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", status, body)
	}
	if _, status, _ := ask(t, strings.Replace(url, "127.0.0.1", "localhost", 1), token); status != http.StatusOK {
		t.Errorf("by localhost: %d", status)
	}
	if _, _, body := ask(t, url, token); bytes.Contains(body, []byte(token)) {
		t.Errorf("the token is shown: %s", body)
	}
	signal := func(c *exec.Cmd, s syscall.Signal) {
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(second, syscall.SIGSTOP)
	until(t, url, token, "the worker that stands still", func(l look) bool {
		return len(l.Findings) > 0 && strings.HasPrefix(l.Findings[0].What, "worker 1 runs and has not answered for ") && l.Roles[3].State == "silent"
	})
	signal(second, syscall.SIGCONT)
	until(t, url, token, "the job that goes on", func(l look) bool { return l.trains(4) })
	signal(first, syscall.SIGKILL)
	_ = first.Wait()
	if _, status, _ := ask(t, url, token); status != 0 {
		t.Errorf("a page of a process that was killed: %d", status)
	}
	server(0)
	after := until(t, url, token, "the job behind the kill", func(l look) bool { return l.trains(4) })
	was, is := before.Training.Curves[0].Points, after.Training.Curves[0].Points
	if is[0][0] > was[len(was)-1][0] || is[len(is)-1][0] <= was[len(was)-1][0] { // it goes on, with fewer points the longer it is
		t.Errorf("the curve had %v, and has %v behind the kill", was, is)
	}
}

// TestAPageAlone: a program alone shows itself where FLEET_UI says, on loopback unless an interface is named, with a token that it prints, and
// its checkpoints on its curves.
func TestAPageAlone(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	dir := t.TempDir()
	_, out := begin(t, dir, []string{"-checkpoint=" + filepath.Join(dir, "ck")}, "FLEET_UI=:0", "FLEET_UI_TOKEN=")
	shown := regexp.MustCompile(`the job is shown at (http://127\.0\.0\.1:\d+)/\?token=(\S+)`)
	var url, token string
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for range 1200 {
		if at := shown.FindStringSubmatch(out.String()); at != nil {
			url, token = at[1], at[2]
			break
		}
		<-again.C
	}
	until(t, url, token, "the program", func(l look) bool {
		return l.trains(1) && len(l.Training.Marks) > 0 && l.Training.Marks[len(l.Training.Marks)-1].Kind == "checkpoint"
	})
}
