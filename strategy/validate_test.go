package strategy_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/strategy"
)

func TestValidate(t *testing.T) {
	const second = strategy.Duration(time.Second)
	tests := []struct {
		name string
		s    strategy.Strategy
		want string // "" if valid
	}{
		{"zero", strategy.Strategy{}, ""},
		{"custom placement", strategy.Strategy{Placement: "Mine"}, ""},
		{"small blocks", strategy.Strategy{MinBlockSize: 16, SmallBlocks: true}, ""},
		{"large blocks", strategy.Strategy{MinBlockSize: 81920}, ""},
		{"slow heartbeat", strategy.Strategy{HeartbeatInterval: 20 * second, WorkerTimeout: 60 * second}, ""},

		{"mode", strategy.Strategy{Mode: "gossip"}, `mode is "gossip"; it can be "sync", "async"`},
		{"mode's case", strategy.Strategy{Mode: "Sync"}, `mode is "Sync"`},
		{"codec", strategy.Strategy{Codec: "lz4"}, `codec is "lz4"; it can be "none", "s2", "zstd" or "gzip"`},
		{"payload", strategy.Strategy{Payload: "int4"}, `payload is "int4"; it can be "float32", "float16", "bfloat16" or "int8"`},
		{"few bits", strategy.Strategy{Mode: "sync", Payload: "int8"}, ""},
		{"weighting", strategy.Strategy{Mode: "sync", Weighting: "mean"},
			`weighting is "mean"; it can be "samples", "equal" or "pushes"`},
		{"weighting in async", strategy.Strategy{Weighting: "equal"}, `weighting is "equal", but mode async has no rounds`},
		{"staleness in async", strategy.Strategy{Staleness: 3}, `staleness is 3, but only mode "ssp" has it`},
		{"negative staleness", strategy.Strategy{Mode: "ssp", Staleness: -3}, "staleness is -3; it can't be negative"},
		{"stale", strategy.SSP(3), ""},
		{"k_steps in async", strategy.Strategy{KSteps: 3}, `k_steps is 3, but only mode "geo" has it`},
		{"negative k_steps", strategy.Geo(-3), "k_steps is -3; it can't be negative"},
		{"narrow geo", strategy.Strategy{Mode: "geo", Payload: "int8"}, `payload is "int8", but mode geo`},
		{"geo", strategy.Geo(3), ""},
		{"geo_rest", strategy.Strategy{Mode: "geo", GeoRest: "drop"}, `geo_rest is "drop"; it can be "send" or "keep"`},
		{"merge", strategy.Strategy{Merge: "max"}, `merge is "max"; it can be "mean" or "sum"`},
		{"no foresight of nothing", strategy.Strategy{NoForesight: true, DelayCompensation: 1}, "no_foresight is true, but with delay_compensation nothing is foreseen"},
		{"merge of nothing", strategy.Strategy{Merge: "sum"}, `merge is "sum", but max_merge_var_num is 1: no gradients travel together`},
		{"merge of some", strategy.Strategy{Merge: "sum", MaxMergeVarNum: 2}, ""},
		{"merge of threads", strategy.Strategy{Mode: "half_async", Merge: "sum"}, ""},
		{"geo_rest in sync", strategy.Strategy{Mode: "sync", GeoRest: "keep"}, `geo_rest is keep, but only mode "geo" has it`},
		{"waits in sync", strategy.Strategy{Mode: "sync", SendWaitTimes: 4}, `send_wait_times is 4, but only mode "async" has it`},
		{"receiver in sync", strategy.Strategy{Mode: "sync", IndependentRecvThread: true}, `independent_recv_thread is true, but only mode "async" has it`},
		{"negative begin", strategy.Strategy{Mode: "sync", LocalSGD: strategy.LocalSGD{KSteps: 2, BeginStep: -1}}, "localsgd: begin_step is -1; it can't be negative"},
		{"negative adaptive begin", strategy.Strategy{Mode: "sync", AdaptiveLocalSGD: strategy.AdaptiveLocalSGD{InitKSteps: 2, BeginStep: -1}},
			"adaptive_localsgd: begin_step is -1; it can't be negative"},
		{"merge in sync", strategy.Strategy{Mode: "sync", Merge: "sum"}, `merge is sum, but only mode "async" or "half_async" has it`},
		{"queue in sync", strategy.Strategy{Mode: "sync", SendQueueSize: 4}, `send_queue_size is 4, but only mode "async" has it`},
		{"nothing to wait for", strategy.Strategy{SendWaitTimes: 4}, "send_wait_times is 4, but max_merge_var_num is 1"},
		{"waiting", strategy.Strategy{SendWaitTimes: 4, MaxMergeVarNum: 2}, ""},
		{"compensation in ssp", strategy.Strategy{Mode: "ssp", DelayCompensation: 1}, "delay_compensation is 1, but only"},
		{"negative compensation", strategy.Strategy{DelayCompensation: -1}, "delay_compensation is -1; it can't"},
		{"negative block", strategy.Strategy{MinBlockSize: -5}, "min_block_size is -5"},
		{"small block", strategy.Strategy{MinBlockSize: 8191}, "min_block_size is 8191, below 8192; set small_blocks"},
		{"blocks of nothing", strategy.Strategy{NoSlice: true, MinBlockSize: 8192}, "min_block_size is 8192, but no_slice"},
		{"small blocks of nothing", strategy.Strategy{NoSlice: true, SmallBlocks: true}, "small_blocks is true, but no_slice"},
		{"not finite", strategy.Strategy{NotFinite: "ignore"}, `not_finite is "ignore"; it can be "refuse", "skip" or "clip"`},
		{"small frame", strategy.Strategy{MaxFrame: 100}, "max_frame is 100; it counts bytes and is at least 4096"},
		{"negative frame", strategy.Strategy{MaxFrame: -1}, "max_frame is -1"},
		{"more memory than there is", strategy.Strategy{MaxMemory: 80}, "max_memory is 80; it is a share"},
		{"negative memory", strategy.Strategy{MaxMemory: -0.1}, "max_memory is -0.1"},
		{"no memory", strategy.Strategy{MaxMemory: math.NaN()}, "max_memory is NaN"},
		{"memory of copies", strategy.Strategy{Mode: "geo", MaxMemory: 0.8}, "mode geo keeps every row on every worker"},
		{"negative time", strategy.Strategy{StartTimeout: -second}, "start_timeout is -1s"},
		{"slow heartbeat", strategy.Strategy{HeartbeatInterval: 20 * second}, "heartbeat_interval is 20s and worker_timeout is 30s"},
		{"longest time", strategy.Strategy{WaitTimeout: 87600 * 3600 * second}, ""},
		{"many requests", strategy.Strategy{ThreadPoolSize: 1024}, ""},
		{"half a timeout", strategy.Strategy{HeartbeatInterval: 15 * second}, ""},
		{"one step is no merge", strategy.Strategy{Mode: "geo", GradientMerge: strategy.GradientMerge{KSteps: 1}}, ""},
		{"one step drifts", strategy.Strategy{Mode: "sync", LocalSGD: strategy.LocalSGD{KSteps: 4}, GradientMerge: strategy.GradientMerge{KSteps: 1}}, ""},
		{"endless time", strategy.Strategy{WaitTimeout: 1 << 62}, "wait_timeout is 1281023h53m38.427387904s; it can be at most 87600h0m0s"},
		{"busy heart", strategy.Strategy{HeartbeatInterval: 1}, "heartbeat_interval is 1ns; it must be at least 1ms"},
		{"too stale", strategy.SSP(1 << 31), "staleness is 2147483648; it can be at most 1073741824"},
		{"crowd of requests", strategy.Strategy{ThreadPoolSize: 5000}, "thread_pool_size is 5000; it can be at most 1024"},
		{"endless queue", strategy.Strategy{SendQueueSize: 1 << 30}, "send_queue_size is 1073741824; it can be at most 65536"},
		{"endless wait", strategy.Strategy{SendWaitTimes: 1 << 40, MaxMergeVarNum: 2}, "it can be at most 1048576"},
		{"endless compensation", strategy.Strategy{DelayCompensation: math.Inf(1)}, "delay_compensation is +Inf; it must be a number"},
		{"large buckets", strategy.Strategy{Mode: "sync", FuseGradSizeInMB: 1 << 30}, "fuse_grad_size_in_MB is 1073741824; it can be at most 1048576"},
		{"checkpoints", strategy.Strategy{Recovery: strategy.Recovery{Dir: "ckpt"}}, ""},
		{"seldom checkpoints", strategy.Strategy{Mode: "geo", Recovery: strategy.Recovery{Dir: "/ckpt", Every: 3600 * second, Keep: 5}}, ""},
		{"checkpoints nowhere", strategy.Strategy{Recovery: strategy.Recovery{Every: second}}, "recovery: every is 1s, but no dir says where"},
		{"deltas of nothing", strategy.Strategy{Recovery: strategy.Recovery{Deltas: 3}}, "recovery: deltas is 3, but no dir says where"},
		{"deltas below nothing", strategy.Strategy{Recovery: strategy.Recovery{Dir: "d", Deltas: -1}}, "recovery: deltas is -1; it can't be negative"},
		{"keep nothing", strategy.Strategy{Recovery: strategy.Recovery{Keep: 3}}, "recovery: keep is 3, but no dir says where"},
		{"negative keep", strategy.Strategy{Recovery: strategy.Recovery{Dir: "c", Keep: -1}}, "recovery: keep is -1; it can't be negative"},
		{"negative every", strategy.Strategy{Recovery: strategy.Recovery{Dir: "c", Every: -second}}, "recovery: every is -1s; it can't be negative"},
		{"incessant checkpoints", strategy.Strategy{Recovery: strategy.Recovery{Dir: "c", Every: 1}}, "recovery: every is 1ns; it must be at least 100ms"},
		{"endless keep", strategy.Strategy{Recovery: strategy.Recovery{Dir: "c", Keep: 1 << 30}}, "recovery: keep is 1073741824; it can be at most 1048576"},
		{"checkpoints far away", strategy.Strategy{Recovery: strategy.Recovery{Dir: "s3://b/c"}}, "recovery: dir: \"s3://b/c\" is not a path"},
		{"quick death", strategy.Strategy{WorkerTimeout: second}, "heartbeat_interval is 1s and worker_timeout is 1s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.s.Validate()
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("%v: %v", tt.s, err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestValidateReportsEverything(t *testing.T) {
	err := strategy.Strategy{Mode: "gossip", Codec: "lz4", WaitTimeout: -1}.Validate()
	for _, field := range []string{"mode", "codec", "wait_timeout"} {
		if err == nil || !strings.Contains(err.Error(), "strategy: "+field+" is ") {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}
