package main

import (
	"math/rand"
	"strings"
	"sync"
	"syscall"
	"time"
)

// rule has operations fail, or take longer. op is "*" for all, and left the number of hits that are left, below 0 for
// any number.
type rule struct {
	op, sub string
	errno   syscall.Errno
	prob    float64
	left    int
	delay   time.Duration
	hits    int
}

var (
	mu    sync.Mutex // guards these and what a cut knows
	rules []*rule
	off   bool // the power is cut
	nops  = map[string]int{}
)

// check counts an operation, and returns the error of the rules that it hits.
func check(op, path string) syscall.Errno {
	mu.Lock()
	if off {
		mu.Unlock()
		return syscall.EIO
	}
	nops[op]++
	var d time.Duration
	var e syscall.Errno
	for _, r := range rules {
		if r.op != "*" && r.op != op || !strings.Contains(path, r.sub) || r.left == 0 || rand.Float64() >= r.prob {
			continue
		}
		if r.left > 0 {
			r.left--
		}
		r.hits++
		d += r.delay
		if r.errno != 0 {
			e = r.errno
		}
	}
	mu.Unlock()
	time.Sleep(d)
	return e
}
