package onnx

import "slices"

// refused are the ops of nn that are not written, by the advice for them.
var refused = map[string][]string{
	"what it computes is the program's, not the model's: name what it takes in Options.Outputs, and leave it to the " +
		"caller": {"custom"},
	"a row of it depends on the rows beside it: name what it takes in Options.Outputs": {"in_batch_softmax",
		"group_pairs"},
	"it draws candidates while training: name what it takes in Options.Outputs": {"nce", "sampled_softmax"},
	"it is part of a loss: name what it takes, the prediction, in Options.Outputs": {"mean", "weighted_mean",
		"class_weights", "log_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy",
		"softmax_with_cross_entropy", "square_error", "absolute_error", "smooth_l1", "focal_loss", "hinge",
		"contrastive"},
	"it is a metric, which counts over batches: name what it measures in Options.Outputs": {"auc", "batch_auc",
		"sliding_auc", "group_auc", "group_rank", "bucket_error", "mae", "mse", "rmse", "accuracy", "batch_accuracy",
		"precision", "recall", "binary_accuracy", "measure"},
}

// whyNot returns why an op is not written.
func whyNot(op string) string {
	for why, ops := range refused {
		if slices.Contains(ops, op) {
			return why
		}
	}
	return "this version does not know it"
}
