package fleet_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/observe"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestProfilesSayWhatFor: samples of a CPU profile that FLEET_METRICS gives have labels: a server's the op, the worker and the table, a
// worker's the part of its step.
func TestProfilesSayWhatFor(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	var enough atomic.Bool
	trained := make(chan error, 1)
	go func() {
		var failed error
		for _, err := range trial.Cluster(1, 1).Errors(t, trial.Counters(20_000, strategy.Async(), func(ctx context.Context, _ *fleet.Fleet, c *trial.Counter) error {
			return c.InSession(ctx, func(s optimizer.Session) (err error) {
				for st := c.Step(); !enough.Load() && err == nil; {
					err = trial.Step(ctx, s, st, func() { spin(st.Rows[0].G) })
				}
				return err
			})
		})) {
			failed = errors.Join(failed, err)
		}
		trained <- failed
	}()
	want := []string{"op=update table=rows worker=0", "op=step table=rows worker=0", "op=compute worker=0", "op=pull worker=0"}
	var got map[string]int
	lacks := func(labels string) bool { return got[labels] == 0 }
	for range 20 { // a processor that others use too gives few samples a second
		if got = labelsOf(t, profileOf(t)); !slices.ContainsFunc(want, lacks) {
			break
		}
	}
	enough.Store(true)
	if err := <-trained; err != nil {
		t.Error(err)
	}
	if slices.ContainsFunc(want, lacks) {
		t.Errorf("samples have the labels %v, want some of each of %q", got, want)
	}
}

// spin takes about as long as a step.
func spin(g []float32) {
	for range 100 {
		for i := range g {
			g[i] = -1 - (g[i]+1)/2
		}
	}
}

// profileOf is a second of this process.
func profileOf(t *testing.T) []byte {
	a := new(observe.Page).Answer(&observe.Request{Path: "/debug/pprof/profile", Query: url.Values{"seconds": {"1"}},
		Remote: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, Gone: func() <-chan struct{} { return nil }})
	if strings.Contains(string(a.Body), "already in use") {
		t.Skip("all tests are being profiled")
	}
	packed, err := gzip.NewReader(bytes.NewReader(a.Body))
	law.Check(t, err)
	profile, err := io.ReadAll(packed)
	law.Check(t, err)
	return profile
}

// labelsOf are the labels of a profile's samples, each with the number of them. A profile is a message whose field 2 are samples, and 6 texts;
// field 3 of a sample are labels, of which field 1 is the place of the name among the texts, and 2 that of the value.
func labelsOf(t *testing.T, profile []byte) map[string]int {
	texts, samples := fieldsOf(t, profile, 6), fieldsOf(t, profile, 2)
	all := map[string]int{}
	for _, sample := range samples {
		var labels []string
		for _, label := range fieldsOf(t, sample, 3) {
			name, _ := binary.Uvarint(fieldsOf(t, label, 1)[0])
			value, _ := binary.Uvarint(fieldsOf(t, label, 2)[0])
			labels = append(labels, fmt.Sprintf("%s=%s", texts[name], texts[value]))
		}
		slices.Sort(labels)
		all[strings.Join(labels, " ")]++
	}
	return all
}

// fieldsOf are the values of a field in a message of Protocol Buffers, those that are numbers as they are written.
func fieldsOf(t *testing.T, message []byte, field uint64) (all [][]byte) {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		size, m := binary.Uvarint(message[n:])
		at, end := n, n+m
		if tag&7 == 2 {
			at, end = n+m, n+m+int(size)
		} else if tag&7 != 0 {
			t.Fatalf("a field of kind %d", tag&7)
		}
		if tag>>3 == field {
			all = append(all, message[at:end])
		}
		message = message[end:]
	}
	return all
}
