package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestMain is the command itself in a process that a test has started.
func TestMain(m *testing.M) {
	if args := os.Getenv("SERVE_TEST_ARGS"); args != "" {
		if err := run(context.Background(), strings.Fields(args)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// large saves a model of three layers of 400, of which a row takes 5 kB of memory while it is computed.
func large(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "model")
	g := nn.NewGraph(1)
	h := g.Input("x", 10)
	for range 3 {
		h = nn.Linear(h, 400, nn.LinearOptions{Act: nn.ReLU})
	}
	out := nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid})
	f, err := fleet.Init(nil)
	if err != nil {
		t.Fatal(err)
	}
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: .1}, strategy.Sync())
	if err == nil {
		err = opt.Minimize(nn.Mean(out))
	}
	if err == nil {
		err = f.InitWorker(t.Context())
	}
	if err == nil {
		err = f.SaveInferenceModel(t.Context(), dir, nn.Inference(out))
	}
	if err == nil {
		err = f.StopWorker(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// process is the command in a process of its own.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
	log bytes.Buffer
}

func startProcess(t *testing.T, dir string) *process {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0]), url: "http://" + addr}
	// Memory is measured as users have it, whatever runs the tests.
	p.cmd.Env = append(os.Environ(), "GOGC=100", "SERVE_TEST_ARGS=-deadline=5s -model="+dir+" -addr="+addr)
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	for began := time.Now(); ; {
		if a, err := http.Get(p.url + "/healthz"); err == nil {
			a.Body.Close()
			return p
		} else if time.Since(began) > time.Minute {
			t.Fatalf("it does not serve: %v, %s", err, p.log.String())
		}
	}
}

// megabytes is a line of the process's status.
func (p *process) megabytes(line string) int {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	found := regexp.MustCompile(line + `:\s+(\d+) kB`).FindSubmatch(text)
	if err != nil || found == nil {
		p.t.Fatalf("no %s: %v", line, err)
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n / 1024
}

// ask is an answer's status.
func (p *process) ask(body string) (status int, err error) {
	a, err := http.Post(p.url+"/score", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	_, err = io.Copy(io.Discard, a.Body)
	return a.StatusCode, err
}

// honest asks for one row every so often until done closes, or so many times, each of which must be answered. It returns
// what the slowest of a hundred took from when it was due: one that is late makes those behind it late too.
func (p *process) honest(done <-chan struct{}, row string, times int) (n int, p99 time.Duration) {
	const every = 50 * time.Millisecond
	var took []time.Duration
	for due, over := time.Now(), false; !over && len(took) < times; due = due.Add(every) {
		select {
		case <-done:
			over = true
		case <-time.After(time.Until(due)):
		}
		status, err := p.ask(row)
		if err != nil || status != http.StatusOK {
			p.t.Errorf("an honest request: %d, %v", status, err)
			return len(took), 0
		}
		took = append(took, max(0, time.Since(due)))
	}
	slices.Sort(took)
	return len(took), took[len(took)*99/100]
}

// patience is how long an honest request may take on a machine that is busy with other things too: without the bound on
// the rows that are computed at a time the slowest take 1 to 8 s.
const patience = 750 * time.Millisecond

// TestUnderAttack: large requests that come together, every one of which is legal, and bodies that stop in the middle,
// take a bounded amount of memory, and a client of one row is answered all the time, nearly as soon as before and after,
// and as by another process beside, which nobody attacks.
//
// Promise: [G13] large requests that come together, and bodies that stop in the middle, take a server 300 MB at most,
// and others are answered meanwhile
func TestUnderAttack(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long, and -short is given")
	}
	model := large(t)
	p, other := startProcess(t, model), startProcess(t, model)
	row := `{"x":[1,2,3,4,5,6,7,8,9,10]}`
	many := "[" + strings.Repeat(row+",", 2499) + row + "]"
	idle := p.megabytes("VmRSS")
	attacks := []struct {
		name string
		run  func()
	}{
		{"large requests", func() {
			var all sync.WaitGroup
			var answered atomic.Int64
			for range 64 {
				all.Go(func() {
					switch status, err := p.ask(many); {
					case err != nil:
					case status == http.StatusOK, status == http.StatusServiceUnavailable:
						answered.Add(1)
					case status != http.StatusRequestTimeout: // which it is on a machine too busy to bring it in time
						t.Errorf("a large request: %d", status)
					}
				})
			}
			all.Wait()
			if answered.Load() == 0 {
				t.Error("of 64 large requests none was answered")
			}
		}},
		{"half bodies", func() {
			var all []net.Conn
			text := "POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 500_000)
			var sending sync.WaitGroup
			for range 600 {
				c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
				if err != nil {
					t.Error(err)
					break
				}
				all = append(all, c)
				sending.Go(func() { _, _ = io.WriteString(c, text) })
			}
			for _, c := range all { // until each is closed
				_, _ = io.Copy(io.Discard, c)
				c.Close()
			}
			sending.Wait()
		}},
	}
	beside := func(attack func()) (n int, p99, others time.Duration) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			attack()
		}()
		var asking sync.WaitGroup
		asking.Go(func() { _, others = other.honest(done, "["+row+"]", math.MaxInt) })
		n, p99 = p.honest(done, "["+row+"]", math.MaxInt)
		asking.Wait()
		return n, p99, others
	}
	quiet := func() time.Duration {
		_, p99 := p.honest(nil, "["+row+"]", 10)
		return p99
	}
	for _, attack := range attacks {
		for try := 1; ; try++ {
			before := quiet()
			n, p99, others := beside(attack.run)
			most, peak := max(5*max(before, quiet(), others), patience), p.megabytes("VmHWM")
			t.Logf("%s: %d MB, idle %d MB; %d honest requests, of which 99 %% took no longer than %v, may be %v", attack.name, peak, idle,
				n, p99, most)
			if peak > idle+300 {
				t.Errorf("%s take %d MB more than idle, want 300 at most", attack.name, peak-idle)
			}
			if p99 <= most {
				break
			}
			if try == 4 {
				t.Errorf("beside %s an honest request takes %v, four times, want %v at most", attack.name, p99, most)
				break
			}
		}
	}
}
