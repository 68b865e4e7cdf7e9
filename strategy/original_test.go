package strategy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/strategy"
)

// TestEveryOptionOfTheOriginal gives Read each option of the original's DistributedStrategy and DistributeTranspilerConfig: it is
// understood, or refused with what stands for it or the reason why nothing does.
func TestEveryOptionOfTheOriginal(t *testing.T) {
	understood := `a_sync a_sync_configs localsgd adaptive_localsgd gradient_merge fuse_grad_size_in_MB min_block_size mode`
	refused := `amp recompute dgc lars lamb pipeline elastic auto sync_nccl_allreduce nccl_comm_num use_hierarchical_allreduce
		hierarchical_allreduce_inter_nranks sync_batch_norm fuse_all_reduce_ops fuse_grad_size_in_TFLOPS cudnn_exhaustive_search
		conv_workspace_size_limit cudnn_batchnorm_spatial_persistent fp16_allreduce sharding last_comm_group_size_MB
		find_unused_parameters tensor_parallel without_graph_optimization fuse_grad_size_in_num calc_comm_same_stream asp
		fuse_grad_merge semi_auto adam_d2sum auto_search heter_ccl_mode is_fl_ps_mode with_coordinator qat
		recompute_configs amp_configs localsgd_configs gradient_merge_configs dgc_configs pipeline_configs lars_configs lamb_configs
		adaptive_localsgd_configs sharding_configs hybrid_configs tensor_parallel_configs trainer_desc_configs downpour_table_param
		fs_client_param gradient_scale_configs qat_configs build_strategy execution_strategy
		sync_mode split_method slice_var_up wait_port enable_dc_asgd half_async geo_sgd_mode geo_sgd_need_push_nums
		runtime_split_send_recv`
	for name := range strings.FieldsSeq(understood) {
		if _, err := strategy.Read(strings.NewReader(fmt.Sprintf(`{%q: null}`, name))); err != nil && strings.Contains(err.Error(), "unknown") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name := range strings.FieldsSeq(refused) {
		_, err := strategy.Read(strings.NewReader(fmt.Sprintf(`{%q: true}`, name)))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("unknown field %q (", name)) {
			t.Errorf("%s is refused without a reason: %v", name, err)
		}
	}
}
