package strategy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// formerly are the original's names for what has another name here.
var formerly = map[string]string{
	"sync_mode":                 `that is "mode": "sync" or "async"`,
	"half_async":                `that is "mode": "half_async"`,
	"geo_sgd_mode":              `that is "mode": "geo"`,
	"runtime_split_send_recv":   `every "mode" but sync does that`,
	"geo_sgd_need_push_nums":    `that is "k_steps"`,
	"update_frequency":          `that is "k_steps"`,
	"split_method":              `that is "placement": "RoundRobin" or "HashName"`,
	"slice_var_up":              `that is "no_slice", with the opposite meaning`,
	"enable_dc_asgd":            `that is "delay_compensation": 1`,
	"is_sgd_optimizer":          `that is "merge": "sum" or "mean"`,
	"merge_sparse_grad":         `rows are always merged with the rest`,
	"gradient_merge_configs":    `that is "gradient_merge", where "sum" is avg with the opposite meaning`,
	"localsgd_configs":          `that is "localsgd"`,
	"adaptive_localsgd_configs": `that is "adaptive_localsgd"`,
	"rpc_deadline":              `that is "wait_timeout"`,
	"rpc_retry_times":           `what is safe to repeat is repeated until "wait_timeout"`,
	"wait_port":                 `workers always wait for servers, for "start_timeout"`,
	"launch_barrier":            `workers always wait for servers, for "start_timeout"`,
	"lr_decay_steps":            `schedules belong to the optimizer's rule`,
	"lars":                      `that is a rule, optimizer.Lars`,
	"lamb":                      `that is a rule, optimizer.Lamb`,
}

// without are the original's switches for what gofleet has no use for, by the reason.
var without = map[string][]string{
	"it is for GPUs, and gofleet computes on CPUs: leave it out": {"amp", "amp_configs", "recompute",
		"recompute_configs", "fp16_allreduce",
		"sync_batch_norm", "cudnn_exhaustive_search", "cudnn_batchnorm_spatial_persistent", "conv_workspace_size_limit",
		"qat",
		"qat_configs", "asp", "dgc", "dgc_configs", "heter_ccl_mode"},
	"workers hold whole models, and servers what is larger: leave it out": {"sharding", "sharding_configs", "pipeline",
		"pipeline_configs",
		"tensor_parallel", "tensor_parallel_configs", "hybrid_configs"},
	"workers add up over gofleet's own transport, all at once: leave it out": {"nccl_comm_num", "sync_nccl_allreduce",
		"use_hierarchical_allreduce", "hierarchical_allreduce_inter_nranks", "calc_comm_same_stream"},
	`gradients are always fused, up to "fuse_grad_size_in_MB" at a time`: {"fuse_all_reduce_ops",
		"fuse_grad_size_in_num", "fuse_grad_size_in_TFLOPS", "last_comm_group_size_MB", "fuse_grad_merge"},
	"gradients are means over the samples of all workers: \"weighting\" has the choices": {"gradient_scale_configs"},
	"what a graph computes is decided when it is built: leave it out": {"build_strategy", "execution_strategy",
		"find_unused_parameters",
		"without_graph_optimization", "semi_auto", "auto_search"},
	"a job has the roles it was started with: leave it out":                    {"elastic"},
	"that is paddle.Auto, which every process must call with the same figures": {"auto"},
	"the settings of rules are those of package optimizer": {"lars_configs", "lamb_configs",
		"adam_d2sum"},
	"a job has servers and workers, no coordinators: leave it out": {"is_fl_ps_mode",
		"with_coordinator"},
	"tables are described by nn.EmbeddingOptions, or by optimizer.Param: leave it out": {"downpour_table_param",
		"trainer_desc_configs"},
	"checkpoints are written to directories that all servers share: leave it out": {"fs_client_param"},
}

// hint says what stands for a field of the original, or why nothing does; "" if it has no such field.
func hint(name string) string {
	if h := formerly[name]; h != "" {
		return h
	}
	for reason, names := range without {
		if slices.Contains(names, name) {
			return reason
		}
	}
	return ""
}

// asyncConfigs are the keys of a_sync_configs that are fields here.
var asyncConfigs = []string{"k_steps", "max_merge_var_num", "send_queue_size", "send_wait_times", "thread_pool_size",
	"independent_recv_thread", "min_send_grad_num_before_recv"}

// translate puts the fields that the original's a_sync and a_sync_configs stand for in their place:
//
//	{"a_sync": true, "a_sync_configs": {"k_steps": 100}}    {"mode": "geo", "k_steps": 100}
//
// a_sync is true where it is left out, k_steps 0.
func translate(found map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	aSync, written := found["a_sync"]
	configs, configured := found["a_sync_configs"]
	if !written && !configured {
		return found, nil
	}
	if _, twice := found["mode"]; twice {
		return nil, errors.New("strategy: mode and a_sync both say how gradients meet; leave one out")
	}
	found = maps.Clone(found)
	delete(found, "a_sync")
	delete(found, "a_sync_configs")
	if configured {
		if err := spread(found, configs); err != nil {
			return nil, err
		}
	}
	return found, setMode(found, aSync)
}

// spread makes fields of the keys of a_sync_configs.
func spread(found map[string]json.RawMessage, configs json.RawMessage) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(configs, &keys); err != nil {
		return explain("a_sync_configs", configs, err)
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(asyncConfigs, name) {
			unknown = append(unknown, name)
		} else if _, twice := found[name]; twice {
			return fmt.Errorf("strategy: %s is in a_sync_configs and beside it; leave one out", name)
		}
		found[name] = keys[name]
	}
	if len(unknown) > 0 {
		return fmt.Errorf("strategy: a_sync_configs has unknown %s; it can have %s", describe(unknown),
			list(asyncConfigs))
	}
	return nil
}

// setMode makes mode and k_steps of a_sync and k_steps.
func setMode(found map[string]json.RawMessage, aSync json.RawMessage) error {
	on, k := true, 0
	if err := errors.Join(decodeField("a_sync", aSync, &on), decodeField("k_steps", found["k_steps"], &k)); err != nil {
		return err
	}
	preset, err := fromASync(on, k)
	if err != nil {
		return err
	}
	found["mode"] = json.RawMessage(fmt.Sprintf("%q", preset.Mode))
	found["k_steps"] = json.RawMessage(fmt.Sprint(preset.KSteps))
	return nil
}

// decodeField decodes a value that may be missing.
func decodeField(name string, value json.RawMessage, to any) error {
	if value == nil {
		return nil
	}
	if err := json.Unmarshal(value, to); err != nil {
		return explain(name, value, err)
	}
	return nil
}

// fromASync is the strategy that a_sync and k_steps of the original's DistributedStrategy stand for: sync if aSync is
// false, else async if k is 0, else geo.
func fromASync(aSync bool, k int) (Strategy, error) {
	switch {
	case k < 0 || !aSync && k > 0:
		return Strategy{}, fmt.Errorf("strategy: a_sync %t with k_steps %d; k_steps is 0 in sync, and 0 (async) or "+
			"above (geo) in a_sync", aSync, k)
	case !aSync:
		return Sync(), nil
	case k > 0:
		return Geo(k), nil
	}
	return Async(), nil
}
