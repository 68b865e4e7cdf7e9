package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
	"github.com/gofleet/gofleet/strategy"
)

// lines are flights as a CSV file has them.
const lines = "carrier,dest,distance,late\nAA,JFK,1400,1\nUA,,300,0\nAA,EWR,NA,1\nB6,JFK,900,0\n"

var format = dataset.CSV{NA: "NA", Schema: []dataset.CSVColumn{
	{Column: dataset.Ints("C", 2), Fields: []string{"carrier", "dest"}, Hash: 1000},
	{Column: dataset.Floats("distance"), Missing: "0"}, {Column: dataset.Floats("late")},
}}

// trained saves a model that has learned for some epochs, and returns what its executor makes of the lines.
func trained(t *testing.T, dir string, epochs int) (scores []float32) {
	t.Helper()
	g := nn.NewGraph(1)
	h := nn.Concat(nn.Embedding(g.IDs("C", 2), nn.EmbeddingOptions{Height: 1000, Dim: 4}), nn.Scale(g.Input("distance", 1), 1e-3, 0))
	pred := nn.Linear(nn.Linear(h, 16, nn.LinearOptions{Act: nn.ReLU}), 1, nn.LinearOptions{Act: nn.Sigmoid}).Named("late_or_not")
	f, err := fleet.Init(nil)
	if err != nil {
		t.Fatal(err)
	}
	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 0.05}, strategy.Sync())
	if err == nil {
		err = opt.Minimize(nn.Mean(nn.LogLoss(pred, g.Input("late", 1))))
	}
	if err == nil {
		err = f.InitWorker(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	exe, rows := nn.NewExecutor(g), func() *dataset.Dataset { return dataset.FromReader(strings.NewReader(lines), "lines", format) }
	for range epochs {
		if _, err := exe.TrainFrom(t.Context(), rows().Batches(2), nn.TrainOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for batch, err := range rows().Batches(4) {
		if err != nil {
			t.Fatal(err)
		}
		out, err := exe.Eval(t.Context(), batch, pred)
		if err != nil {
			t.Fatal(err)
		}
		scores = append(scores, out[0].Float32s()...)
	}
	if err := exe.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.SaveInferenceModel(t.Context(), dir, nn.Inference(pred).WithFormat(format)); err != nil {
		t.Fatal(err)
	}
	if err := f.StopWorker(t.Context()); err != nil {
		t.Fatal(err)
	}
	return scores
}

// server is one that runs, until stop; done has how it ended.
type server struct {
	url  string
	stop func()
	done chan error
}

func start(t *testing.T, dir string) server {
	t.Helper()
	scorer, err := serve.OpenScorer(dir, serve.ScorerOptions{Join: 8})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := server{"http://" + l.Addr().String(), stop, make(chan error, 1)}
	go keepFresh(ctx, scorer, time.Millisecond)
	go func() {
		s.done <- listen(ctx, l, newHandler(scorer, limits{10 * time.Second, 2000, 20}), 10*time.Second)
	}()
	return s
}

// reply is what a server says to a request.
type reply struct {
	status int
	text   string
	Model  string
	Scores map[string][][]float32
}

func (s server) ask(client *http.Client, path, kind, body string) (r reply, err error) {
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	q, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return r, err
	}
	q.Header.Set("Content-Type", kind)
	a, err := client.Do(q)
	if err != nil {
		return r, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	r.status, r.text = a.StatusCode, string(text)
	if err == nil && r.status == http.StatusOK {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// TestServed: rows are scored over HTTP as the executor that trained scores them, raw lines and JSON alike; what makes no sense is refused;
// and while models are saved into the directory every request is answered, by one model as a whole, until the last one when it ends.
//
// Promise: [G13] a served model computes what was trained over HTTP too, from a job's saves until the server ends
func TestServed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "model")
	want := [][]float32{trained(t, dir, 1)}
	s := start(t, dir)
	defer s.stop()
	first, err := s.ask(http.DefaultClient, "/score", "text/csv", lines)
	if err != nil || !same(first, want[0]) {
		t.Fatalf("%+v, %v, want %v", first, err, want[0])
	}
	row := fmt.Sprintf(`[{"C":[%d,%d],"distance":1400}]`, dataset.HashID("carrier", "AA", 1000), dataset.HashID("dest", "JFK", 1000))
	if r, err := s.ask(http.DefaultClient, "/score", "Application/JSON; charset=utf-8", row); err != nil || !same(r, want[0][:1]) {
		t.Errorf("JSON: %+v, %v, want %v", r, err, want[0][:1])
	}
	for path, want := range map[string]string{"/model": `"distance","type":"float32","shape":[-1,1]`, "/healthz": first.Model, "/latency": `"requests":2`} {
		if r, err := s.ask(http.DefaultClient, path, "", ""); err != nil || r.status != http.StatusOK || !strings.Contains(r.text, want) {
			t.Errorf("%s: %+v, %v, want %s", path, r, err, want)
		}
	}
	for body, status := range map[string]int{"carrier,dest,distance\nAA,JFK,far": 400, strings.Repeat("x", 2001): 413, "\n": 400,
		"carrier,dest,distance" + strings.Repeat("\nAA,JFK,1", 20): 200, strings.Repeat("A,B,1\n", 22): 413} {
		if r, err := s.ask(http.DefaultClient, "/score", "text/csv", body); err != nil || r.status != status || len(r.text) < 10 {
			t.Errorf("%.20q: %+v, %v, want %d", body, r, err, status)
		}
	}
	s.reloads(t, dir, want[0], first.Model)
}

// reloads saves other models while clients ask, waits until each is served, and ends the server.
func (s server) reloads(t *testing.T, dir string, first []float32, version string) {
	var mu sync.Mutex // guards what follows
	answers, ending := map[string][]float32{version: first}, false
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for client := new(http.Client); ; {
				r, err := s.ask(client, "/score", "text/csv", lines)
				mu.Lock()
				over, known := ending, answers[r.Model]
				if err == nil && known == nil && r.status == 200 { // the first answer of a model: the test compares it
					for _, score := range r.Scores["late_or_not"] {
						answers[r.Model] = append(answers[r.Model], score...)
					}
				}
				mu.Unlock()
				if err != nil && over {
					return
				}
				if err != nil || r.status != 200 || known != nil && !same(r, known) {
					t.Errorf("a request was dropped, or answered by two models: %+v, %v", r, err)
					return
				}
			}
		})
	}
	for epochs := range 4 {
		want := trained(t, dir, 2+epochs)
		saved, err := serve.Version(dir)
		if err != nil {
			t.Fatal(err)
		}
		for served := (reply{}); served.Model != saved; {
			if served, err = s.ask(http.DefaultClient, "/score", "text/csv", lines); err != nil || served.status != 200 {
				t.Fatalf("%+v, %v", served, err)
			} else if served.Model == saved && !same(served, want) {
				t.Errorf("after %d epochs: %+v, want %v", 2+epochs, served, want)
			}
		}
	}
	mu.Lock()
	ending = true
	mu.Unlock()
	s.stop()
	all.Wait()
	if err := <-s.done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// same says whether a reply has these scores, to the bit.
func same(r reply, want []float32) bool {
	got := r.Scores["late_or_not"]
	for i, w := range want {
		if len(got) != len(want) || len(got[i]) != 1 || math.Float32bits(got[i][0]) != math.Float32bits(w) {
			return false
		}
	}
	return true
}

// slow is a body that stops coming.
type slow struct{}

func (slow) Read([]byte) (int, error) {
	return 0, &net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7)}, Err: os.ErrDeadlineExceeded}
}

// broken is an op that panics.
type broken struct{}

func (broken) Shape(in [][]int) ([]int, error) { return in[0], nil }
func (broken) Forward(*nn.OpCall)              { panic("out of order") }
func (broken) Backward(*nn.OpCall)             {}

// TestAModelThatPanics: the request learns that the model failed, and nothing of the program; the server goes on.
func TestAModelThatPanics(t *testing.T) {
	if err := nn.RegisterOp[broken]("broken"); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "model")
	m := nn.Inference(nn.Custom(broken{}, nn.NewGraph(1).Input("x", 1)).Named("y"))
	if err := weights.SaveModel(t.Context(), dir, m, weights.Source{}); err != nil {
		t.Fatal(err)
	}
	scorer, err := serve.OpenScorer(dir, serve.ScorerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler(scorer, limits{time.Second, 1000, 2})
	for range 2 {
		q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/score", strings.NewReader(`[{"x":1}]`))
		q.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if text := w.Body.String(); w.Code != http.StatusInternalServerError || text != "the model failed; the server's log says how\n" {
			t.Errorf("%d, %s", w.Code, text)
		}
	}
}

// TestRefusals: a request that doesn't come to its end, or has too many rows, is refused by what it is, before anything is computed.
func TestRefusals(t *testing.T) {
	h := newHandler(nil, limits{time.Second, 1000, 2}) // that computes nothing
	for _, c := range []struct {
		kind   string
		body   io.Reader
		status int
		says   string
	}{
		{"text/csv", slow{}, http.StatusRequestTimeout, "in time"},
		{"application/json", strings.NewReader(`[{"x":1},{"x":2},{"x":3}]`), http.StatusRequestEntityTooLarge, "3 rows: a request may have 2"},
		{"", strings.NewReader("x\n1\n2\n3\n"), http.StatusRequestEntityTooLarge, "3 rows: a request may have 2"},
	} {
		q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/score", c.body)
		q.Header.Set("Content-Type", c.kind)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if text := w.Body.String(); w.Code != c.status || !strings.Contains(text, c.says) || strings.Contains(text, "10.0.0.7") {
			t.Errorf("%d, %s; want %d, %s", w.Code, text, c.status, c.says)
		}
	}
}

// TestLatency: quantiles are where the requests are, to a bucket.
func TestLatency(t *testing.T) {
	var l latency
	if got, err := json.Marshal(l.report()); err != nil || !bytes.Contains(got, []byte(`"requests":0`)) {
		t.Errorf("no request: %s, %v", got, err)
	}
	for i := range 1000 {
		l.add(time.Duration(i+1) * time.Microsecond)
	}
	l.add(0)
	l.add(time.Hour * 1e4)
	r := l.report()
	for name, want := range map[string]float64{"p50_us": 500, "p90_us": 900, "p99_us": 990} {
		if got := r[name].(float64); got < want || got > 1.19*want {
			t.Errorf("%s is %v, want %v to 1.19 times that", name, got, want)
		}
	}
	if r["requests"] != int64(1002) {
		t.Errorf("%v requests", r["requests"])
	}
}

// TestCommandLine: what can't be served ends the command, and says why.
func TestCommandLine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "model")
	trained(t, dir, 1)
	for _, args := range [][]string{{"-model=" + t.TempDir()}, {"-model=" + dir, "-addr=nowhere:1:2"}, {"-modle=x"},
		{"-model=" + dir, "-deltas=" + dir + "/model.json"}, {"-model=" + dir, "-join=-1"}, {"-model=" + dir, "-deadline=0"}} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%q is served", args)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := run(ended, []string{"-model=" + dir, "-addr=127.0.0.1:0"}); err != nil {
		t.Errorf("ended at once: %v", err)
	}
}

// TestItsEndIsLogged: a service that is asked to end says so, and when it has.
func TestItsEndIsLogged(t *testing.T) {
	old := slog.Default()
	defer slog.SetDefault(old)
	var out bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("terminated signal received"))
	if err := listen(ctx, l, http.NotFoundHandler(), time.Second); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ending", "terminated signal received", "msg=ended"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %q: %s", want, out.String())
		}
	}
}

// TestFilesOfRows: of a file the command writes what the model says of each row, and says how right that is.
func TestFilesOfRows(t *testing.T) {
	law.Slow(t)
	dir := t.TempDir()
	model, rows := filepath.Join(dir, "model"), filepath.Join(dir, "rows.csv")
	scores := trained(t, model, 50)
	if err := os.WriteFile(rows, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if err := predictFile(t.Context(), model, rows, &said); err != nil {
		t.Fatal(err)
	}
	want := "late_or_not\n"
	for _, s := range scores {
		want += strconv.FormatFloat(float64(s), 'g', -1, 32) + "\n"
	}
	if said.String() != want {
		t.Errorf("it writes %q, want %q", said.String(), want)
	}
	loss := 0.0
	for i, s := range scores {
		if late := i%2 == 0; !late {
			s = 1 - s
		}
		loss -= math.Log(float64(s)) / float64(len(scores))
	}
	said.Reset()
	if err := (examination{eval: rows, by: "carrier", importance: true}).say(t.Context(), model, &said); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{fmt.Sprintf("%s: 4 rows, loss %.4f, auc 1.0000\n", model, loss), "\n       AA     2  ", "calibration error is 0.", "  dest  "} {
		if !strings.Contains(said.String(), part) {
			t.Errorf("it says no %q:\n%s", part, &said)
		}
	}
	if err := (examination{eval: rows, label: "colour"}).say(t.Context(), model, &said); err == nil || !strings.Contains(err.Error(), "-label=colour") {
		t.Errorf("of a label that is not there: %v", err)
	}
}
