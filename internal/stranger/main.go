// Stranger does to a server of a job what somebody without its secrets may try, and says how much memory that costs the
// server:
//
//	go run ./internal/stranger -to 127.0.0.1:36000 -pid 4711 bombs
//
// It is for servers that let everybody on their machine in, without FLEET_TOKEN and FLEET_TLS_DIR: with either,
// strangers come no further than to the head of a request. Several attacks may be named, or "all". With -pid it reads
// the server's memory from /proc, before, the most during the attack, and ten seconds after it, and ends with status 1
// if one cost more than 300 MB. The attacks are the same whatever the job is. "Before" is what they did before servers
// judged a request by its head and its first bytes, "now" what one costs a server that has just started and trains
// meanwhile:
//
//	attack     what it does                                           before                              now
//	bombs      small messages that decode to 1,000 MB, in every       up to 14.3 GB, 12.6 GB a minute     0 MB, refused
//	           codec, eight at once                                   later
//	fits       64 messages in the job's codec (-codec) that decode    not measured                        3 MB, refused
//	           to as much as a frame of the default size
//	halves     4,200 requests that announce 1 MiB and stop after      1.3 GB, and training stands still   210 MB, closed after
//	           30 kB                                                  until they let go                   StallTimeout
//	announces  200 requests that announce 64 MiB and stop after       not measured                        14 MB, closed likewise
//	           100 kB
//	stays      10,000 connections that make a request which is        239 MB, never closed                1 MB, closed
//	           refused, and stay
//	silent     10,000 connections that say nothing                    96 MB, closed after StallTimeout    138 MB, of 8,192 at most
//	heads      3,000 with half a head of a request                    closed after StallTimeout           49 MB, closed likewise
//	garbage    noise, TLS, lengths that are none, 1.6 MB of head      1 MB, refused                       0 MB, refused
//	speaks     frames of workers and servers without their proof:     orders deaths, holds pushes, has    0 MB, refused by their
//	           hello, join, report, fence, drop, leave, freeze,       files written and removed           headers; of the fingerprint
//	           save, commit, gather, norms, rate, scan, pieces        anywhere, fills 2.5 GB              three lines are told
//
// Attacks that need no port are tests: what a frame may do whose bits were turned over, or which comes twice, late or
// in another's name (TestTurnedBitsOfHeaders of fleet, TestFlippedBits, TestALifeProvesItself,
// TestOnlyServersOrderDeaths, TestPushCountsOnce of internal/server), names that lead out of a directory
// (TestServersNameFiles), damaged checkpoints (internal/checkpoint), wrong tokens and certificates
// (TestStrangers of transport), two jobs at the same addresses (TestScripts of internal/roster), clocks
// (internal/awake).
//
// So are attacks on processes, clocks and files. These were played by hand too, with real processes and default
// timeouts; "now" is on two busy cores:
//
//	what is done                               before                          now
//	a server is killed and started again,      trains on with half of the      all end with 75 within 4 s, and train
//	and so is who ends; async,                 model fresh, and exit code 0    it anew
//	half_async, geo (TestAllGoBackAfterAServersDeath)
//	the same job is started at its addresses   takes the workers' places       refused by name after 4 s; the first
//	(TestASecondJobIsRefused)                                                  comes to its end
//	all processes stand still for 40 s         dead when they wake up          go on to the end
//	(TestSleep)
//	a server is killed, or two                 noticed after 30 to 92 s        after 2.1 to 3.0 s
//	a server is stopped (TestWhenARoleDies)    noticed after 30 to 92 s        after 0.02 to 0.5 s
//	a part of a checkpoint is a pipe, or       read for ever                   refused after 0.02 s
//	/dev/zero (TestPartsAreRegularFiles)
//
// Two are played in virtual time alone. A wall clock that was set by an hour ended workers, or had them wait for that
// hour (TestWallClock of internal/awake); a worker 0 that died before it had published left the others waiting
// (TestWorker0DiesBeforePublishing of fleet).
//
// None of this is against somebody who sees the network: in plaintext the proofs of frames travel with them.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	to := flag.String("to", "127.0.0.1:36000", "the server's `address`")
	pid := flag.Int("pid", 0, "the server's `process`, to read its memory")
	job := flag.String("codec", "none", "the job's `codec`, for fits")
	hold := flag.Duration("hold", 10*time.Second, "how long connections are kept `open`")
	flag.Parse()
	names := flag.Args()
	if len(names) == 1 && names[0] == "all" {
		names = slices.Sorted(maps.Keys(attacks))
	}
	over := false
	for _, name := range names {
		attack, ok := attacks[name]
		if !ok {
			fmt.Fprintf(os.Stderr, "stranger: unknown attack %q; see go doc ./internal/stranger\n", name)
			os.Exit(2)
		}
		s := &stranger{to: *to, codec: *job, hold: *hold, answers: map[string]int{}}
		over = s.suffer(name, attack, *pid) > mostMB || over
	}
	if over {
		os.Exit(1)
	}
}

// mostMB is what an attack may cost a server.
const mostMB = 300

// suffer makes an attack, prints its result, and returns how much memory it cost, in MB.
func (s *stranger) suffer(name string, attack func(*stranger) error, pid int) (cost int) {
	before := memory(pid)
	most, stop := watch(pid)
	if err := attack(s); err != nil {
		fmt.Fprintln(os.Stderr, "stranger:", err)
	}
	stop()
	time.Sleep(10 * time.Second)
	cost = most() - before
	fmt.Printf("%s: %d MB before, %d MB at most, %d MB after: it cost %d MB\n", name, before, most(), memory(pid), cost)
	for answer, n := range s.answers {
		fmt.Printf("%6d × %s\n", n, answer)
	}
	return cost
}

var attacks = map[string]func(*stranger) error{
	"garbage":   (*stranger).garbage,
	"heads":     func(s *stranger) error { return s.keep(3000, "POST /gofleet/1 HTTP/1.1\r\nHost: x\r\nContent-") },
	"speaks":    (*stranger).speaks,
	"bombs":     (*stranger).bombs,
	"fits":      (*stranger).fits,
	"halves":    func(s *stranger) error { return s.halves(4200, 1<<20, 30_000) },
	"announces": func(s *stranger) error { return s.halves(200, 64<<20, 100_000) },
	"stays":     func(s *stranger) error { return s.keep(10_000, request(nil, 0)) },
	"silent":    func(s *stranger) error { return s.keep(10_000, "") },
}

type stranger struct {
	to, codec string
	hold      time.Duration
	mu        sync.Mutex
	answers   map[string]int
}

// watch reads a process's memory until stop is called; most returns the largest value, in MB.
func watch(pid int) (most func() int, stop func()) {
	largest, end, ended := 0, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			largest = max(largest, memory(pid))
			select {
			case <-time.After(50 * time.Millisecond):
			case <-end:
				return
			}
		}
	}()
	return func() int { return largest }, func() { close(end); <-ended }
}

// memory returns the present memory of a process, in MB.
func memory(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return kb >> 10
		}
	}
	return 0
}
