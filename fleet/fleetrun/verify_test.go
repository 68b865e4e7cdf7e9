package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/progress"
	tables "github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/optimizer"
)

// saved makes a series of two checkpoints, and a third that was never finished.
func saved(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	emb := &optimizer.Param{Name: "user", Shape: []int{10, 2}, Embedding: true}
	rows, err := tables.NewSparse(emb, optimizer.SGD{}, tables.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store := new(tables.Store)
	if err := store.AddTable(rows); err != nil {
		t.Fatal(err)
	}
	if _, err := rows.Push([]uint64{3, 7}, make([]float32, 4), 1); err != nil {
		t.Fatal(err)
	}
	for n := range int64(2) {
		to := filepath.Join(dir, []string{"ckpt-000001", "ckpt-000002"}[n])
		image := checkpoint.ImageOf(store)
		part, err := checkpoint.WriteImage(t.Context(), to, checkpoint.PartName("x", 0, 1), image)
		image.Close()
		if err == nil {
			err = checkpoint.Commit(to, checkpoint.Manifest{ID: "x", Rule: "SGD{}", Step: 40 + n, Steps: []uint64{7, 8},
				RateFactors: []tables.Factor{{From: 12, By: 0.5}}, Progress: &checkpoint.Progress{Epoch: 5, User: []byte("day 3")},
				Positions: [][]progress.Position{{{Threads: 1, Epoch: 5, Samples: 12}}, {{Threads: 1, Epoch: 4, Samples: 99}}},
				Params:    checkpoint.Params([]*optimizer.Param{emb}), Parts: []checkpoint.Part{part}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "ckpt-000003"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// does runs a command and compares its exit code and some of what it says.
func does(t *testing.T, code int, args string, wants ...string) (said string) {
	t.Helper()
	con, screen := consoleOn(t, false)
	if got := run(strings.Fields(args), con); got != code {
		t.Errorf("%s: exit code %d, want %d: %s", args, got, code, screen())
	}
	for _, want := range wants {
		if !strings.Contains(screen(), want) {
			t.Errorf("%s: %q is not in\n%s", args, want, screen())
		}
	}
	return screen()
}

// TestVerify: whole files are 0 and damage is 1, with the file's name; a checkpoint under way is no damage.
func TestVerify(t *testing.T) {
	t.Parallel()
	dir := saved(t)
	part := checkpoint.PartName("x", 0, 1)
	said := does(t, 0, "verify "+dir, "ckpt-000001: checkpoint of update 40, whole", part, "ckpt-000003: checkpoint, not finished")
	if strings.Contains(said, "DAMAGED") {
		t.Errorf("it says %s", said)
	}
	does(t, 1, "verify "+filepath.Join(dir, "ckpt-000003"), "0 whole, 0 damaged, 1 not finished")
	if err := os.Truncate(filepath.Join(dir, "ckpt-000002", part), 100); err != nil {
		t.Fatal(err)
	}
	does(t, 1, "verify "+dir, "ckpt-000002: checkpoint of update 41, DAMAGED", part, "100 bytes, the manifest says", "1 whole, 1 damaged, 1 not finished")
	does(t, 0, "verify "+filepath.Join(dir, "ckpt-000001"))
	does(t, 1, "verify "+t.TempDir(), "neither a checkpoint nor a saved model")
	does(t, 1, "verify s3://bucket/x", "not a path on this machine")
	does(t, 2, "verify", "name a directory")
	does(t, 2, "verify --fast x", "fast")
	does(t, 0, "verify --help", "Usage: fleetrun verify")
}

// TestInspect: what is in checkpoints, for a person and as JSON.
func TestInspect(t *testing.T) {
	t.Parallel()
	dir := saved(t)
	first := filepath.Join(dir, "ckpt-000001")
	does(t, 0, "inspect "+first, "a checkpoint", "update     40", "worker 0   step 7, 12 samples of epoch 6\n", "worker 1   step 8, 0 samples of epoch 6\n", `progress   after epoch 5, user "day 3"`, "times 0.5 from update 12 on",
		"user [10 2], 2 rows", "SGD{}")
	var all []checkpoint.Description
	if err := json.Unmarshal([]byte(does(t, 0, "inspect --json "+first)), &all); err != nil || len(all) != 1 {
		t.Fatalf("%d objects, error %v", len(all), err)
	}
	if d := all[0]; d.Progress.Epoch != 5 || d.Step != 40 || d.Params[0].Rows != 2 || string(d.Progress.User) != "day 3" || d.Dir != first {
		t.Errorf("it is %+v", d)
	}
	does(t, 0, "inspect "+dir, "update     41", "  steps      each worker's own count", "ckpt-000003: a checkpoint, not finished")
	does(t, 1, "inspect "+filepath.Join(dir, "ckpt-000003"), "ckpt-000003 has no manifest.json")
	does(t, 1, "inspect "+filepath.Join(dir, "ckpt-000003")+" "+filepath.Join(dir, "ckpt-000003"), "none of 2 checkpoints is finished")
	does(t, 2, "inspect", "fleetrun: inspect: name a directory")
	does(t, 0, "help", "Usage: fleetrun --server_num=N")
	does(t, 0, "inspect -h", "Usage: fleetrun inspect")
}

// TestInspectModels: a model's signature is shown, with the format of its rows and their columns.
func TestInspectModels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sign := func(rows string) {
		t.Helper()
		for name, text := range map[string]string{"graph.json": "{}", "signature.json": `{"format":"gofleet signature","version":1,
			"feeds":[{"name":"dense_input","type":"float32","shape":[-1,2]},{"name":"words","type":"slot","shape":[-1]}],
			"outputs":[{"name":"sigmoid_0","type":"float32","shape":[-1,1]}]` + rows + "}"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	sign(`,"rows":{"name":"csv","options":{"Comma":59,"Missing":"0","Schema":[
		{"Column":{"Name":"dense_input","Shape":[2],"Type":"float32"},"Fields":["distance","temp"],"Missing":"-1"},
		{"Column":{"Name":"words","Type":"int64","Varying":true},"Hash":1000001},{"Column":{"Name":"late","Type":"float32"}}]}}`)
	does(t, 0, "inspect "+dir, ": a model\n", "  feed       dense_input [N 2] float32\n  feed       words [N] slot\n  output     sigmoid_0 [N 1] float32\n"+
		"  rows       csv, Comma ';', Missing \"0\"\n  column     dense_input [N 2] float32, of distance, temp, -1 where missing\n"+
		"  column     words, any number of int64, hashed to 1000001 ids\n  column     late [N 1] float32\n")
	sign(`,"rows":{"name":"slot_text","options":{"Slots":[{"Column":{"Name":"C","Shape":[7],"Type":"int64"},"Slots":["1","2","3","4","5","6","7"]}]}}`)
	does(t, 0, "inspect "+dir, "rows       slot_text\n  column     C [N 7] int64, of 1, 2, … 7, 7 in all\n")
	sign(`,"rows":{"name":"criteo","options":{"Height":100}}`)
	does(t, 0, "inspect "+dir, "  rows       criteo, Height 100\n")
	if said := does(t, 0, "inspect --json "+dir, `"signature": {`, `"name": "sigmoid_0"`); !json.Valid([]byte(said)) {
		t.Errorf("it is %s", said)
	}
	sign("")
	does(t, 0, "inspect "+dir, "  rows       their format was not saved")
	sign(`,"rows":7`)
	does(t, 0, "inspect "+dir, "  signature  it can't be read: json")
	sign("}")
	does(t, 1, "inspect "+dir, "signature.json is not JSON")
}

// TestDeltas: a delta is called that, with what it follows, by the version that the base is shown with.
func TestDeltas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	save := func(to string, follow *modelfiles.Delta) (version string) {
		t.Helper()
		s, err := modelfiles.Begin(filepath.Join(dir, to))
		if err == nil && follow != nil {
			err = s.Follow(*follow)
		}
		if err == nil {
			err = s.Write(modelfiles.Graph, func(w io.Writer) error { _, err := io.WriteString(w, "{}"); return err })
		}
		if err == nil {
			err = s.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		return s.Version()
	}
	base := save("base", nil)
	delta := save("delta", &modelfiles.Delta{Base: base, Follows: base, Number: 1})
	does(t, 0, "inspect "+dir, "base: a model\n", "  version    "+base+"\n", "delta: a delta\n", "  version    "+delta+"\n",
		"  follows    "+base+", as delta 1 of "+base+"\n")
	does(t, 0, "inspect --json "+dir, `"kind": "delta"`, `"follows": "`+base+`"`)
	does(t, 0, "verify "+dir, "base: model, whole", "delta: delta 1 of base "+base+", which follows "+base+", whole")
}

// TestPin: a checkpoint is pinned and let go, and only one that is whole.
func TestPin(t *testing.T) {
	t.Parallel()
	dir := saved(t)
	first := filepath.Join(dir, "ckpt-000001")
	does(t, 0, "pin "+first, "ckpt-000001 is pinned")
	does(t, 0, "inspect "+first, "a checkpoint, pinned")
	if !checkpoint.Pinned(first) {
		t.Error("it is not pinned")
	}
	does(t, 0, "unpin "+first, "ckpt-000001 is not pinned")
	if checkpoint.Pinned(first) {
		t.Error("it is still pinned")
	}
	does(t, 1, "pin "+filepath.Join(dir, "ckpt-000003"), "can't be pinned")
	does(t, 2, "pin", "name a directory")
	does(t, 0, "unpin -h", "fleetrun unpin DIR")
}

func TestBytesText(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 5_000_000_000: "5.0 GB", 1<<63 - 1: "9.2 EB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
