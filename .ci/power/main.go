// Crashfs is a file system that fails by rule, and that knows what a power cut would leave of it:
//
//	crashfs BACKING MOUNT ADDR
//
// It shows the directory BACKING at MOUNT, and answers HTTP at ADDR:
//
//	/set?rule=OP:TEXT:ERRNO:PROBABILITY:COUNT:DELAY;…  operations on paths that contain TEXT fail, or take longer
//	/clear                                             no rule is left; it says how often each was hit
//	/cut?to=DIR&seed=N                                 every operation fails from now on, and DIR gets what a cut leaves
//	/stat                                              the numbers of operations
//
// After a cut, writes since a file's last fsync are there, in part, or not at all, or as zeros; changes of names since
// the last fsync of their directory are undone from the last one back. With EXT4 set in the environment, the fsync of a
// file makes all earlier changes of names durable, as ext4 does.
package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
)

func main() {
	backing = os.Args[1]
	mnt := os.Args[2]
	_ = os.MkdirAll(backing, 0o755)
	_ = os.MkdirAll(filepath.Join(backing, "..", ".trash-"+filepath.Base(backing)), 0o755)
	if os.Getenv("EXT4") != "" {
		strict = false
	}
	lr, err := fs.NewLoopbackRoot(backing)
	if err != nil {
		panic(err)
	}
	rd := lr.(*fs.LoopbackNode).RootData
	rd.NewNode = newNode
	root := newNode(rd, nil, "", nil)
	rd.RootNode = root
	sec := time.Duration(0)
	o := &fs.Options{EntryTimeout: &sec, AttrTimeout: &sec}
	o.DirectMount = true
	o.MaxWrite = 1 << 20
	s, err := fs.Mount(mnt, root, o)
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/set", func(w http.ResponseWriter, q *http.Request) {
		names := map[string]syscall.Errno{"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EROFS": syscall.EROFS, "EDQUOT": syscall.EDQUOT, "ESTALE": syscall.ESTALE, "EACCES": syscall.EACCES, "0": 0}
		mu.Lock()
		defer mu.Unlock()
		for _, t := range strings.Split(q.FormValue("rule"), ";") {
			f := strings.Split(t, ":")
			x := &rule{op: f[0], sub: f[1], errno: names[f[2]]}
			x.prob, _ = strconv.ParseFloat(f[3], 64)
			x.left, _ = strconv.Atoi(f[4])
			x.delay, _ = time.ParseDuration(f[5])
			rules = append(rules, x)
		}
	})
	http.HandleFunc("/clear", func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		for _, r := range rules {
			fmt.Fprintf(w, "%s %s %v hit %d; ", r.op, r.sub, r.errno, r.hits)
		}
		rules = nil
		mu.Unlock()
	})
	http.HandleFunc("/cut", func(w http.ResponseWriter, q *http.Request) {
		seed, _ := strconv.ParseInt(q.FormValue("seed"), 10, 64)
		t, err := cut(q.FormValue("to"), seed)
		fmt.Fprintln(w, t, err)
	})
	http.HandleFunc("/stat", func(w http.ResponseWriter, q *http.Request) { mu.Lock(); fmt.Fprintln(w, nops); mu.Unlock() })
	go func() { panic(http.ListenAndServe(os.Args[3], nil)) }()
	s.Wait()
}
