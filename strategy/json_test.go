package strategy_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func ExampleRead() {
	file := strings.NewReader(`{"mode": "sync", "codec": "zstd", "worker_timeout": "1m"}`)
	s, err := strategy.Read(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Mode, s.Codec, s.WorkerTimeout, s.WithDefaults().Placement)
	// Output: sync zstd 1m0s RoundRobin
}

func TestReadEveryField(t *testing.T) {
	const file = `{
		"mode": "sync", "placement": "Mine", "min_block_size": 100, "small_blocks": true, "codec": "gzip", "payload": "bfloat16", "max_frame": 4096, "max_memory": 0.8, "not_finite": "skip",
		"heartbeat_interval": "500ms", "worker_timeout": "1m30s", "start_timeout": "10s", "wait_timeout": "1h",
		"weighting": "pushes"
	}`
	want := strategy.Strategy{
		Mode:              strategy.ModeSync,
		Placement:         "Mine",
		MinBlockSize:      100,
		SmallBlocks:       true,
		Codec:             "gzip",
		Payload:           "bfloat16",
		MaxFrame:          4096,
		MaxMemory:         0.8,
		NotFinite:         strategy.NotFiniteSkip,
		HeartbeatInterval: strategy.Duration(500 * time.Millisecond),
		WorkerTimeout:     strategy.Duration(90 * time.Second),
		StartTimeout:      strategy.Duration(10 * time.Second),
		WaitTimeout:       strategy.Duration(time.Hour),
		Weighting:         strategy.WeightPushes,
	}
	got, err := strategy.Read(strings.NewReader(file))
	if err != nil || got != want {
		t.Errorf("error %v, difference (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	got, err = strategy.Read(strings.NewReader(`{"no_slice": true}`))
	if err != nil || got != (strategy.Strategy{NoSlice: true}) {
		t.Errorf("no_slice gives %v, error %v", got, err)
	}
}

func TestReadRefuses(t *testing.T) {
	const known = "want mode, staleness, k_steps, geo_rest, look_ahead, no_foresight, merge, max_merge_var_num, push_samples, send_queue_size, send_wait_times, " +
		"thread_pool_size, independent_recv_thread, min_send_grad_num_before_recv, delay_compensation, placement, no_slice, min_block_size, small_blocks, codec, payload, max_frame, max_memory, not_finite, heartbeat_interval, " +
		"worker_timeout, start_timeout, wait_timeout, weighting"
	tests := []struct{ name, file, want string }{
		{"unknown", `{"mode": "sync", "speed": 3}`, `unknown field "speed"; ` + known},
		{"several unknown", `{"b": 1, "a": 1}`, `unknown field "a", "b"; want`},
		{"unknown and null", `{"speed": null}`, `unknown field "speed"`},
		{"another case", `{"Mode": "sync"}`, `unknown field "Mode"`},
		{"sync_mode", `{"sync_mode": true}`, `"sync_mode" (that is "mode": "sync" or "async")`},
		{"a_sync's type", `{"a_sync": 1}`, `a_sync is 1; it must be of type bool`},
		{"a_sync and mode", `{"a_sync": true, "mode": "geo"}`, "mode and a_sync both say how gradients meet"},
		{"steps of sync", `{"a_sync": false, "a_sync_configs": {"k_steps": 4}}`, "a_sync false with k_steps 4"},
		{"steps that were not set", `{"a_sync": true, "a_sync_configs": {"k_steps": -1}}`, "a_sync true with k_steps -1"},
		{"steps of no number", `{"a_sync": true, "a_sync_configs": {"k_steps": "4"}}`, `k_steps is "4"; it must be of type int`},
		{"configs of no kind", `{"a_sync_configs": 4}`, `a_sync_configs is 4; it must be of type map`},
		{"unknown config", `{"a_sync_configs": {"launch_barrier": true, "use_ps_gpu": 0}}`,
			`a_sync_configs has unknown "launch_barrier" (workers always wait for servers, for "start_timeout"), "use_ps_gpu"; it can have "k_steps"`},
		{"config twice", `{"a_sync": true, "k_steps": 4, "a_sync_configs": {"k_steps": 4}}`, "k_steps is in a_sync_configs and beside it"},
		{"config of another mode", `{"a_sync": true, "a_sync_configs": {"k_steps": 4, "send_queue_size": 16}}`, `send_queue_size is 16, but only mode "async"`},
		{"split_method", `{"split_method": "HashName"}`, `"split_method" (that is "placement"`},
		{"slice_var_up", `{"slice_var_up": true}`, `"slice_var_up" (that is "no_slice", with the opposite meaning)`},
		{"wrong type", `{"no_slice": "yes"}`, `no_slice is "yes"; it must be of type bool`},
		{"fraction", `{"min_block_size": 1.5}`, `min_block_size is 1.5; it must be of type int`},
		{"bare number", `{"wait_timeout": 30}`, `wait_timeout is 30; write a duration as a string, like "30s"`},
		{"bad duration", `{"wait_timeout": "30 s"}`, `wait_timeout: "30 s" is not a duration`},
		{"bad value", `{"mode": "gossip"}`, `mode is "gossip"`},
		{"array", `[]`, "not a JSON object"},
		{"empty", ``, "unexpected end"},
		{"cut off", `{"mode": "sync"`, "unexpected end"},
		{"two objects", `{} {}`, "after top-level value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := strategy.Read(strings.NewReader(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("strategy %v, error %v, want %q", s, err, tt.want)
			}
			if n := strings.Count(err.Error(), "strategy: "); !strings.HasPrefix(err.Error(), "strategy: ") || n != 1 {
				t.Errorf("error %q says %d times whose it is, want once, in front", err, n)
			}
		})
	}
}

// TestReadASync reads a_sync and a_sync_configs as programs of the original write them.
func TestReadASync(t *testing.T) {
	tests := []struct {
		file string
		want strategy.Strategy
	}{
		{`{"a_sync": false}`, strategy.Sync()},
		{`{"a_sync": true}`, strategy.Async()},
		{`{"a_sync": true, "a_sync_configs": {"k_steps": 0}}`, strategy.Async()},
		{`{"a_sync": true, "a_sync_configs": {"k_steps": 100}}`, strategy.Geo(100)},
		{`{"a_sync": true, "k_steps": 100}`, strategy.Geo(100)},
		{`{"a_sync_configs": {"k_steps": 800}}`, strategy.Geo(800)},
		{`{"a_sync": true, "codec": "s2", "a_sync_configs": {"max_merge_var_num": 2, "send_queue_size": 16, "send_wait_times": 1,
			"thread_pool_size": 3, "independent_recv_thread": true, "min_send_grad_num_before_recv": 4}}`,
			strategy.Strategy{Mode: "async", Codec: "s2", MaxMergeVarNum: 2, SendQueueSize: 16, SendWaitTimes: 1, ThreadPoolSize: 3,
				IndependentRecvThread: true, MinSendGradNumBeforeRecv: 4}},
	}
	for _, tt := range tests {
		if got, err := strategy.Read(strings.NewReader(tt.file)); err != nil || got != tt.want {
			t.Errorf("%s: %v, error %v; want %v", tt.file, got, err, tt.want)
		}
	}
	s := strategy.Geo(100)
	if err := json.Unmarshal([]byte(`{"a_sync": false}`), &s); err != nil || s != strategy.Sync() {
		t.Errorf("a file that makes geo sync gives %v, error %v", s, err)
	}
}

func TestUnmarshalAmends(t *testing.T) {
	s := strategy.Sync()
	s.Codec = "s2"
	law.Check(t, json.Unmarshal([]byte(`{"placement": "HashName"}`), &s))
	if want := (strategy.Strategy{Mode: "sync", Codec: "s2", Placement: "HashName"}); s != want {
		t.Errorf("amended strategy is %v, want %v", s, want)
	}
	if err := json.Unmarshal([]byte(`{"codec": "gzip", "max_frame": 4096, "not_finite": "skip", "wait_timeout": "never"}`), &s); err == nil || s.Codec != "s2" {
		t.Errorf("error %v left codec %q, want s2 untouched", err, s.Codec)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := strategy.Strategy{
			Mode:              rapid.SampledFrom(strategy.Modes()).Draw(t, "mode"),
			Placement:         rapid.StringMatching(`[A-Za-z"é ]{0,6}`).Draw(t, "placement"),
			MinBlockSize:      rapid.IntRange(8192, 1<<40).Draw(t, "min"),
			Codec:             rapid.SampledFrom([]string{"none", "s2", "zstd", "gzip"}).Draw(t, "codec"),
			Payload:           rapid.SampledFrom([]strategy.Payload{strategy.PayloadFloat32, strategy.PayloadFloat16, strategy.PayloadBFloat16, strategy.PayloadInt8}).Draw(t, "payload"),
			HeartbeatInterval: strategy.Duration(rapid.Int64Range(1e6, 1e9).Draw(t, "heartbeat")),
			WorkerTimeout:     strategy.Duration(rapid.Int64Range(2e9, 1e17).Draw(t, "timeout")),
			WaitTimeout:       strategy.Duration(rapid.Int64Range(0, 1e17).Draw(t, "wait")),
		}
		if want.Mode == strategy.ModeGeo {
			want.Payload = "" // which has no choice of it
		}
		var file strings.Builder
		law.Check(t, want.Write(&file))
		got, err := strategy.Read(strings.NewReader(file.String()))
		if err != nil || got != want {
			t.Fatalf("wrote %s, read %v, error %v", file.String(), got, err)
		}
	})
}

// TestEveryFieldThereAndBack sets one field after another, and all of them, and finds them again: a new field needs no line here.
func TestEveryFieldThereAndBack(t *testing.T) {
	var all strategy.Strategy
	for i := range reflect.TypeFor[strategy.Strategy]().NumField() {
		var one strategy.Strategy
		fill(reflect.ValueOf(&one).Elem().Field(i))
		fill(reflect.ValueOf(&all).Elem().Field(i))
		for _, want := range []strategy.Strategy{one, all} {
			data, err := json.Marshal(want)
			law.Check(t, err)
			var got strategy.Strategy
			if err := json.Unmarshal(data, &got); err != nil || got != want || got == (strategy.Strategy{}) {
				t.Errorf("%s gives %v, error %v", data, got, err)
			}
		}
	}
}

// fill gives a field some value that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		v.SetInt(7)
	}
}

func TestWriteLeavesOutZeros(t *testing.T) {
	var file strings.Builder
	law.Check(t, strategy.Sync().Write(&file))
	if want := "{\n  \"mode\": \"sync\"\n}\n"; file.String() != want {
		t.Errorf("wrote %q, want %q", file.String(), want)
	}
}

func TestStringHasTheDefaults(t *testing.T) {
	const want = `{"mode":"async","max_merge_var_num":1,"send_queue_size":1,"thread_pool_size":1,"min_send_grad_num_before_recv":1,"placement":"RoundRobin","min_block_size":8192,"codec":"none","payload":"float32","max_frame":67108864,"not_finite":"refuse","heartbeat_interval":"1s",` +
		`"worker_timeout":"30s","start_timeout":"3m0s","wait_timeout":"15m0s"}`
	if got := fmt.Sprint(strategy.Strategy{}); got != want {
		t.Errorf("the zero strategy prints\n%s, want\n%s", got, want)
	}
}

func TestLinesTellOfEveryField(t *testing.T) {
	lines := strategy.SSP(3).Lines()
	if n := reflect.TypeFor[strategy.Strategy]().NumField(); len(lines) != n {
		t.Errorf("%d lines for %d fields", len(lines), n)
	}
	for _, want := range []string{`strategy: mode is "ssp"`, "strategy: staleness is 3", `strategy: wait_timeout is "15m0s"`, "strategy: no_slice is false"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line says %q; there are %q", want, lines)
		}
	}
}

func TestSaveAndLoad(t *testing.T) {
	name := filepath.Join(t.TempDir(), "strategy.json")
	want := strategy.Strategy{Mode: "sync", Codec: "zstd", WaitTimeout: strategy.Duration(time.Minute)}
	law.Check(t, want.Save(name))
	if got, err := strategy.Load(name); err != nil || got != want {
		t.Errorf("loaded %v, error %v; want %v", got, err, want)
	}
	law.Check(t, (strategy.Strategy{Mode: "gossip"}).Save(name))
	if _, err := strategy.Load(name); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("error %v does not name the file", err)
	}
	if _, err := strategy.Load(name + ".none"); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("error %v does not name the missing file", err)
	}
	const url = "hdfs://nn:9000/strategy.json"
	_, err := strategy.Load(url)
	for _, err := range []error{err, want.Save(url)} {
		if err == nil || !strings.Contains(err.Error(), "not a path on this machine") {
			t.Errorf("a URL: error %v", err)
		}
	}
}

func TestErrorsOfReadersAndWriters(t *testing.T) {
	broken := errors.New("cable pulled")
	if _, err := strategy.Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("reading: error %v", err)
	}
	_, w := io.Pipe()
	w.CloseWithError(broken)
	if err := strategy.Sync().Write(w); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing: error %v", err)
	}
	if err := strategy.Sync().Save(t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "strategy: ") {
		t.Errorf("saving over a directory: error %v", err)
	}
}

func TestDurationInFlags(t *testing.T) {
	var d strategy.Duration
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	flags.TextVar(&d, "wait", strategy.Duration(time.Minute), "how long")
	if err := flags.Parse([]string{"-wait=90s"}); err != nil || d.Std() != 90*time.Second {
		t.Errorf("-wait=90s gives %v, error %v", d, err)
	}
}
