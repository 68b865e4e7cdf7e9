package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/strategy"
)

// playFlights runs a job that trains wide & deep.
func (s *stage) playFlights(ctx context.Context, p plan, v *verdict) {
	quiet, known := s.unharmed[p.mode]
	if !known {
		dir, err := s.place()
		if err != nil {
			v.fail("%v", err)
			return
		}
		j := &job{stage: s, dir: dir, args: s.flightsArgs(p, dir)}
		if quiet = j.play(ctx); !quiet.model() {
			v.dir = dir
			v.fail("nobody disturbs the job, and it ends with %d: %v\n%s", quiet.code, quiet.err, quiet.said)
			return
		}
		s.unharmed[p.mode] = quiet
	}
	began := time.Now()
	// The number of its steps is not known: an event comes after as much time as the steps take in a counting job.
	far := func() int64 { return int64(time.Since(began) / (5 * time.Millisecond)) }
	j := &job{stage: s, dir: v.dir, restarts: p.restarts, returns: p.returns(), events: p.events, far: far,
		args: s.flightsArgs(p, v.dir)}
	o := j.play(ctx)
	v.ended(p, o)
	if o.code != 0 || o.hung {
		return
	}
	if !o.model() {
		v.fail("it has left no model")
		return
	}
	v.end += ", " + o.auc
	s.compare(ctx, p, v, o, quiet)
}

// flightsArgs returns the command line of a job that trains wide & deep.
func (s *stage) flightsArgs(p plan, dir string) []string {
	r := p.level.recovery(dir)
	more := fmt.Sprintf(`{"heartbeat_interval": "%v", "worker_timeout": "%v", "start_timeout": "15s", `+
		`"wait_timeout": "20s"`, heartbeat, timeout)
	if r.Dir != "" { // keeps the checkpoint that the job goes back to
		more += fmt.Sprintf(`, "recovery": {"keep": 100, "journal": %q, "journal_dir": %q, "restart_timeout": "%v"}`,
			r.Journal, r.JournalDir, r.RestartTimeout.Std())
	}
	args := []string{filepath.Join(s.bin, "wide_and_deep"), "-mode=" + string(p.mode), "-layers=16", "-out=" + dir +
		"/out", "-strategy=" + more + "}"}
	if p.mode == strategy.ModeGeo {
		args = append(args, "-rows=20000", "-epochs=5", "-batch=16", "-lr=0.005", "-k_steps=2")
	} else {
		args = append(args, "-rows=40000", "-epochs=6", "-batch=128")
	}
	if r.Dir != "" {
		args = append(args, "-checkpoint="+r.Dir, "-checkpoint_every=1h")
	}
	return args
}

// aucLine matches the end of an evaluation's line.
var aucLine = regexp.MustCompile(`(?m)test AUC \S+$`)

// model reads the model of a job of flights; it returns false if there is none.
func (o *outcome) model() bool {
	all := aucLine.FindAllString(o.stdout, -1)
	if len(all) == 0 || o.code != 0 {
		return false
	}
	o.auc = all[len(all)-1] // of the model, which is that of the last step
	var err error
	o.bits, err = os.ReadFile(filepath.Join(o.dir, "out", "model", "weights.safetensors"))
	return err == nil
}

// within is how far the test AUC may differ from an undisturbed job's.
const within = 0.003

// compare compares the result of wide & deep with that of an undisturbed job.
func (s *stage) compare(ctx context.Context, p plan, v *verdict, o, quiet outcome) {
	from := basis.FindAllStringSubmatch(logs(v.dir), -1)
	if !p.mayGoBack(o.struck) {
		from = nil // servers begin from a checkpoint, and replay their journals
	}
	switch off := aucOf(o.auc) - aucOf(quiet.auc); {
	case p.mode == strategy.ModeSync && bytes.Equal(o.bits, quiet.bits):
	case p.mode == strategy.ModeSync && len(from) > 0:
		s.compareFrom(ctx, p, v, o, from[len(from)-1][1])
	case p.mode == strategy.ModeSync:
		v.fail("the weights are not those of an undisturbed job")
	// a job that goes back may train on some rows twice, which helps
	case math.IsNaN(off), off < -within, off > within && len(from) == 0:
		v.fail("%s, undisturbed %s", o.auc, quiet.auc)
	}
}

// basis matches the checkpoint in a server's log line about its beginning.
var basis = regexp.MustCompile(`begins from (\S*/checkpoints/ckpt-\d+)`)

// compareFrom compares the result with that of an undisturbed job from the last checkpoint that the job went back to.
func (s *stage) compareFrom(ctx context.Context, p plan, v *verdict, o outcome, from string) {
	dir, err := s.place()
	if err == nil {
		err = os.CopyFS(filepath.Join(dir, "checkpoints", filepath.Base(from)), os.DirFS(from))
	}
	if err != nil {
		v.fail("no job from %s: %v", from, err)
		return
	}
	j := &job{stage: s, dir: dir, args: s.flightsArgs(p, dir)}
	if again := j.play(ctx); !again.model() || !bytes.Equal(again.bits, o.bits) {
		v.fail("the weights are neither those of an undisturbed job nor those of a job from %s, which ends with %d, %s",
			from, again.code, again.auc)
		s.keep(dir)
	}
}

func aucOf(text string) float64 {
	n, err := strconv.ParseFloat(strings.TrimPrefix(text, "test AUC "), 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// logs returns the logs of a job's servers, concatenated.
func logs(dir string) string {
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(dir, "log", "serverlog.*"))
	for _, name := range files {
		text, _ := os.ReadFile(name)
		all.Write(text)
	}
	return all.String()
}

// lastSaved returns what is wrong with the newest checkpoint of a job that has succeeded, "" if nothing is.
func lastSaved(dir string, want int) string {
	c, err := checkpoints.Latest(dir)
	switch {
	case err != nil:
		return "it has ended well, and left no checkpoint: " + err.Error()
	case c.Progress.Epoch != want:
		return "it has ended well, and its last checkpoint is of epoch " + strconv.Itoa(c.Progress.Epoch) + " of " +
			strconv.Itoa(want)
	}
	return ""
}
