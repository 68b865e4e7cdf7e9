package hadoop

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/store"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy"
)

// TestAJob: a job of two servers and two workers saves and goes on where Hadoop's shell fails now and then, breaks off and loses answers, and
// trains what a job that never ended trains.
func TestAJob(t *testing.T) {
	law.Slow(t)
	s, f := newStore(t)
	if err := store.Mount("hdfs", s); err != nil {
		t.Fatal(err)
	}
	defer store.Unmount("hdfs")
	f.befall = everySo(7)
	const dir = "hdfs://nn:8020/user/me/job"
	how := strategy.Sync()
	want := trial.Training{Strategy: how, To: 6}.Weights(t, trial.Cluster(2, 2))
	how.Recovery.Dir = dir + "/own"
	trial.Training{Strategy: how, To: 3, Save: dir + "/named", Model: dir + "/model"}.On(t, trial.Cluster(2, 2))
	if newest, err := checkpoints.Latest(dir + "/own"); err != nil || !strings.HasPrefix(newest.Dir, dir) {
		t.Errorf("the newest is %s, error %v", newest.Dir, err)
	}
	if got := (trial.Training{Strategy: how, From: 3, To: 6}).Weights(t, trial.Cluster(2, 2)); !bytes.Equal(got, want) {
		t.Error("the job that went on has trained other weights")
	}
	for _, file := range f.names() {
		if strings.HasSuffix(file, "job.lock") || strings.HasPrefix(file[strings.LastIndex(file, "/")+1:], ".") {
			t.Errorf("%s is left", file)
		}
	}
}

// everySo has every nth command fail, by turns before it is done, behind it, and in its middle. What is tried again succeeds.
func everySo(n int) func([]string) trouble {
	var commands atomic.Int64
	return func(args []string) trouble {
		turn := int(commands.Add(1))
		if turn%n > 0 {
			return trouble{}
		}
		half := args[0] == "-put" || args[0] == "-cat"
		return trouble{status: 1, words: "Connection reset by peer", done: turn/n%2 == 0 && args[0] != "-cat", half: half && turn/n%2 > 0}
	}
}
