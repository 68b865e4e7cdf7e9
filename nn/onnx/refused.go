package onnx

// refused are the ops of nn that are not written, by kind, with what to do.
var refused = map[string]string{
	"custom": "what it computes is the program's, not the model's: name what it takes in Options.Outputs, and " +
		"leave it to the caller",

	"in_batch_softmax": acrossRows,
	"nce":              drawn,
	"sampled_softmax":  drawn,

	"mean":                             loss,
	"weighted_mean":                    loss,
	"class_weights":                    loss,
	"log_loss":                         loss,
	"binary_cross_entropy":             loss,
	"binary_cross_entropy_with_logits": loss,
	"cross_entropy":                    loss,
	"softmax_with_cross_entropy":       loss,
	"square_error":                     loss,
	"absolute_error":                   loss,
	"smooth_l1":                        loss,
	"focal_loss":                       loss,
	"hinge":                            loss,
	"contrastive":                      loss,

	"auc":             metric,
	"batch_auc":       metric,
	"sliding_auc":     metric,
	"bucket_error":    metric,
	"mae":             metric,
	"mse":             metric,
	"rmse":            metric,
	"accuracy":        metric,
	"batch_accuracy":  metric,
	"precision":       metric,
	"recall":          metric,
	"binary_accuracy": metric,
	"measure":         metric,
}

const (
	loss       = "it is part of a loss: name what it takes, the prediction, in Options.Outputs"
	metric     = "it is a metric, which counts over batches: name what it measures in Options.Outputs"
	drawn      = "it draws candidates while training: name what it takes in Options.Outputs"
	acrossRows = "a row of it depends on the rows beside it: name what it takes in Options.Outputs"
)
