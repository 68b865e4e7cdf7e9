package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompare: jobs stand in lines, the best first, with the epochs of their bests and the flags in which they differ; what is no job is
// named and left out.
func TestCompare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left := func(name, about, history string) string {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"run.json": about, "history.csv": history} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(at, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return at
	}
	const head = "epoch,examples,train loss,test loss,test hits,test left,seconds,examples/s,learning rate,gradient norm\n"
	fast := left("fast", `{"program":"p","workers":2,"servers":1,"flags":{"lr":"0.1","out":"fast","batch":"8"},"falling":["train loss","test loss","test left"]}`,
		head+"1,100,0.9,0.5,0.25,3,1,100,0.1,2\n2,400,0.8,0.6,0.75,2,3,150,0.1,\n")
	slow := left("slow", `{"program":"p","workers":2,"servers":1,"flags":{"lr":"0.2","out":"slow","batch":"8","own":"x\t\n\u001b[2J"},"falling":["train loss","test loss","test left"]}`,
		head+"1,100,0.9,0.4,0.5,,8,12.5,0.1,2\n")
	old := left("old", "", "epoch,examples,train loss,test loss\n1,100,0.9,0.45\n")
	torn := left("torn", "{", head)
	none := left("none", "", "")

	tell := func(want int, args ...string) (out, errs string) {
		t.Helper()
		var o, e bytes.Buffer
		if code := run(append([]string{"compare"}, args...), &console{out: &o, err: &e}); code != want {
			t.Errorf("%q: code %d, want %d", args, code, want)
		}
		return o.String(), e.String()
	}
	said, odd := tell(0, fast, slow, old, torn, none)
	var rows []string
	for line := range strings.Lines(strings.ReplaceAll(said, dir+"/", "")) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"job test loss epoch test hits epoch test left epoch examples/s trained for differs in",
		"slow 0.4000 1/1 0.5000 1/1 12 8s -lr=0.2 -own=\"x\\t\\n\\x1b[2J\"",
		"old 0.4500 1/1 (no run.json)",
		"fast 0.5000 1/2 0.7500 2/2 2.0000 2/2 133 3s -lr=0.1",
	}
	if got := strings.Join(rows, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("it said\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if strings.Count(odd, "left out: ") != 2 || !strings.Contains(odd, torn) || !strings.Contains(odd, none) {
		t.Errorf("of the others it said\n%s", odd)
	}
	for by, first := range map[string]string{"test hits": fast, "test left": fast, "test loss": slow} {
		said, _ := tell(0, "--by="+by, slow, filepath.Join(fast, "history.csv"))
		if line := strings.Split(said, "\n")[1]; !strings.HasPrefix(line, first+" ") {
			t.Errorf("by %s it said\n%s", by, said)
		}
	}
	if _, errs := tell(1, "--by=speed", slow); !strings.Contains(errs, `no history has a column "speed": they have test loss, test hits`) {
		t.Errorf("%s", errs)
	}
	if _, errs := tell(1, none); !strings.Contains(errs, "no job has left a history") {
		t.Errorf("%s", errs)
	}
	tell(2)
}
