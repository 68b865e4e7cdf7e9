package transporttest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
	"github.com/google/go-cmp/cmp"
)

// office is a server that writes down what it sees and answers with it.
type office struct {
	mu   sync.Mutex
	seen []string
}

func (o *office) handle(req []byte, reply *transport.Reply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, string(req))
	reply.Parts = [][]byte{fmt.Appendf(nil, "%s, number %d", req, len(o.seen))}
}

// open starts an office on a network of its own.
func open(t *testing.T) (*office, *transport.Memory) {
	t.Helper()
	net, o := transport.NewMemory(), new(office)
	l, err := net.Listen("server")
	law.Check(t, err)
	served := make(chan error, 1)
	go func() { served <- l.Serve(o.handle) }()
	t.Cleanup(func() {
		if err := errors.Join(l.Close(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	return o, net
}

func call(ctx context.Context, tr transport.Transport, req string) (answer string, err error) {
	err = tr.Call(ctx, "server", [][]byte{[]byte(req)}, func(body []byte) error {
		answer = string(body)
		return nil
	})
	return answer, err
}

// TestEachFault makes one fault certain and looks at both ends.
func TestEachFault(t *testing.T) {
	type faults = transporttest.Faults
	for _, c := range []struct {
		name   string
		faults faults
		seen   []string // by the server after the calls "a" and "b"
		err    error    // of both calls besides ErrInjected; nil for none
		waits  bool     // until ctx ends
	}{
		{"none", faults{}, []string{"a", "b"}, nil, false},
		{"Refuse", faults{Refuse: 1}, nil, transport.ErrUnreachable, false},
		{"LoseRequest", faults{LoseRequest: 1}, nil, transporttest.ErrInjected, false},
		{"LoseAnswer", faults{LoseAnswer: 1}, []string{"a", "b"}, transporttest.ErrInjected, false},
		{"Drop", faults{Drop: 1}, nil, context.DeadlineExceeded, true},
		{"DropAnswer", faults{DropAnswer: 1}, []string{"a", "b"}, context.DeadlineExceeded, true},
		{"HalfOpen", faults{HalfOpen: 1}, nil, context.DeadlineExceeded, true},
		{"Duplicate", faults{Duplicate: 1}, []string{"a", "a", "b", "b"}, nil, false},
		{"Late", faults{Late: 1}, []string{"a", "a", "b"}, nil, false},
		{"late after all", faults{LoseRequest: 1, Late: 1}, []string{"a"}, transporttest.ErrInjected, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, net := open(t)
				faulty := transporttest.NewFaulty(net, 1, c.faults)
				for _, req := range []string{"a", "b"} {
					start := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					_, err := call(ctx, faulty, req)
					cancel()
					if !errors.Is(err, c.err) || c.err != nil && !errors.Is(err, transporttest.ErrInjected) {
						t.Errorf("%s: %v, want %v", req, err, c.err)
					}
					if err != nil && errors.Is(err, transport.ErrUnreachable) != (c.faults.Refuse > 0) {
						t.Errorf("%s: %v; only a refusal proves that nobody saw the request", req, err)
					}
					if waited := time.Since(start); (waited == time.Minute) != c.waits {
						t.Errorf("%s took %v", req, waited)
					}
				}
				if diff := cmp.Diff(c.seen, o.seen); diff != "" {
					t.Errorf("the server saw (- want, + got)\n%s", diff)
				}
			})
		})
	}
}

// TestDuplicateAnswers checks that a caller gets now the first answer, now the second.
func TestDuplicateAnswers(t *testing.T) {
	o, net := open(t)
	faulty := transporttest.NewFaulty(net, 7, transporttest.Faults{Duplicate: 1})
	first := 0
	for i := range 20 {
		answer, err := call(t.Context(), faulty, fmt.Sprint("push ", i))
		law.Check(t, err)
		if answer == fmt.Sprintf("push %d, number %d", i, 2*i+1) {
			first++
		}
	}
	if first == 0 || first == 20 || len(o.seen) != 40 {
		t.Errorf("%d of 20 first answers, %d requests seen", first, len(o.seen))
	}
}

// TestCorrupt flips bits and counts them.
func TestCorrupt(t *testing.T) {
	o, net := open(t)
	faulty := transporttest.NewFaulty(net, 3, transporttest.Faults{Corrupt: 1})
	requests, answers := 0, 0
	for i := range 40 {
		req := fmt.Sprint("push ", i)
		answer, err := call(t.Context(), faulty, req)
		law.Check(t, err)
		seen := o.seen[len(o.seen)-1]
		inRequest := flipped(req, seen)
		inAnswer := flipped(fmt.Sprintf("%s, number %d", seen, len(o.seen)), answer)
		if inRequest+inAnswer != 1 {
			t.Errorf("%q: %d bits of the request and %d of the answer are flipped, want one in all", req, inRequest, inAnswer)
		}
		requests, answers = requests+inRequest, answers+inAnswer
	}
	if requests == 0 || answers == 0 {
		t.Errorf("%d requests and %d answers", requests, answers)
	}
	if _, err := call(t.Context(), faulty, ""); err != nil {
		t.Errorf("an empty request: %v", err)
	}
}

func flipped(a, b string) int {
	if len(a) != len(b) {
		return 1000
	}
	n := 0
	for i := range a {
		for x := a[i] ^ b[i]; x != 0; x &= x - 1 {
			n++
		}
	}
	return n
}

// TestCut ends messages early, on both sides, and counts.
func TestCut(t *testing.T) {
	o, net := open(t)
	faulty := transporttest.NewFaulty(net, 3, transporttest.Faults{Cut: 1})
	requests, answers := 0, 0
	for i := range 40 {
		req := fmt.Sprint("push ", i)
		answer, err := call(t.Context(), faulty, req)
		law.Check(t, err)
		seen := o.seen[len(o.seen)-1]
		whole := fmt.Sprintf("%s, number %d", seen, len(o.seen))
		cutRequest, cutAnswer := len(seen) < len(req), len(answer) < len(whole)
		if cutRequest == cutAnswer || !strings.HasPrefix(req, seen) || !strings.HasPrefix(whole, answer) {
			t.Errorf("%q was seen as %q; %q came back as %q: one of the two should be cut", req, seen, whole, answer)
		}
		if cutRequest {
			requests++
		} else {
			answers++
		}
	}
	if requests == 0 || answers == 0 || faulty.Counts()["Cut"] != 40 {
		t.Errorf("%d requests and %d answers; counts %v", requests, answers, faulty.Counts())
	}
}

// TestDelay lets ten calls be late, and none more than MaxDelay.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, net := open(t)
		faulty := transporttest.NewFaulty(net, 3, transporttest.Faults{Delay: 1, MaxDelay: time.Hour})
		var longest time.Duration
		for i := range 10 {
			start := time.Now()
			if _, err := call(t.Context(), faulty, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, time.Since(start))
		}
		if longest < 10*time.Minute || longest > time.Hour {
			t.Errorf("the longest of ten delays up to an hour is %v", longest)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		if _, err := call(ctx, faulty, "impatient"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want context.DeadlineExceeded", err)
		}
	})
}

// TestReorder sends a request that is held back, and another that overtakes it.
func TestReorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, net := open(t)
		slow := transporttest.NewFaulty(net, 3, transporttest.Faults{Reorder: 1, MaxDelay: time.Hour})
		done := make(chan error, 1)
		start := time.Now()
		go func() {
			_, err := call(t.Context(), slow, "first")
			done <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := call(ctx, slow, "given up"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want context.DeadlineExceeded", err)
		}
		go func() {
			_, err := call(t.Context(), slow, "second")
			done <- err
		}()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if len(o.seen) != 2 || time.Since(start) > time.Hour+time.Minute {
			t.Errorf("seen %q after %v", o.seen, time.Since(start))
		}
	})
}

// TestSeedsReplay sends the same messages from many goroutines, in whatever order they come, and compares what became of
// each with another run. Another seed must fare differently.
func TestSeedsReplay(t *testing.T) {
	faults := transporttest.Faults{Refuse: 0.1, LoseRequest: 0.1, LoseAnswer: 0.1, Duplicate: 0.1, Corrupt: 0.1}
	run := func(seed uint64) (map[string]string, map[string]int) {
		_, net := open(t)
		faulty := transporttest.NewFaulty(net, seed, faults)
		var mu sync.Mutex
		fates := map[string]string{}
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				for step := range 50 {
					req := fmt.Sprintf("worker %d step %d", worker, step/2) // each twice: a retry may fare better
					_, err := call(t.Context(), faulty, req)
					mu.Lock()
					fates[req] += fmt.Sprintf("%v; ", err)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		return fates, faulty.Counts()
	}
	fates, counts := run(1)
	again, countsAgain := run(1)
	other, _ := run(2)
	if diff := cmp.Diff(fates, again); diff != "" {
		t.Errorf("one seed, two runs:\n%s", diff)
	}
	if diff := cmp.Diff(counts, countsAgain); diff != "" {
		t.Errorf("one seed, two counts:\n%s", diff)
	}
	if cmp.Equal(fates, other) {
		t.Error("two seeds, one fate")
	}
	for _, name := range []string{"Refuse", "LoseRequest", "LoseAnswer", "Duplicate", "Corrupt"} {
		if n := counts[name]; n < 15 || n > 80 { // 400 calls at 0.1; of the last two, those not lost before
			t.Errorf("%s happened %d times in 400 calls", name, n)
		}
	}
	if names := slices.Sorted(maps.Keys(counts)); len(names) != 5 {
		t.Errorf("faults that nobody asked for: %s", strings.Join(names, ", "))
	}
	if varied := slices.ContainsFunc(slices.Collect(maps.Values(fates)), func(s string) bool {
		first, second, _ := strings.Cut(s, "; ")
		return first+"; " != second
	}); !varied {
		t.Error("a message sent again always meets the same fate")
	}
}

func ExampleFaulty() {
	net := transport.NewMemory()
	l, err := net.Listen("server")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- l.Serve(func([]byte, *transport.Reply) {}) }()

	faulty := transporttest.NewFaulty(net, 42, transporttest.Faults{LoseAnswer: 0.2})
	lost := 0
	for step := range 1000 {
		if _, err := call(context.Background(), faulty, fmt.Sprint("push ", step)); err != nil {
			lost++
		}
	}
	fmt.Println(lost == faulty.Counts()["LoseAnswer"], lost > 150 && lost < 250)
	fmt.Println(l.Close(context.Background()), <-served)
	// Output:
	// true true
	// <nil> <nil>
}
