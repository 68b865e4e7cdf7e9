package nn

// BucketError is how far predicted probabilities are from the rates observed, over all batches since
// [Executor.ResetMetrics], of shape [1]: 0 means a model that is right on average in every group with enough examples.
// pred and label are as in [AUC], buckets as in [BatchAUC]; bucket i of 4096 stands for the probability i/4096.
//
// Neighbouring buckets, spanning at most 0.01 of probability, are joined until their mean prediction q̄ over k examples
// is known to √((1−q̄)/(q̄·k)) < 0.05; each such group has the error |observed/q̄ − 1|, and the result is the mean over
// the groups, weighted by examples. It is 0 where no group is known so well, and NaN when a score was.
func BucketError(pred, label *Node) *Node { return apply("", bucketError{}, pred, label) }

// bucketError counts scores as auc does.
type bucketError struct{ auc }

func (bucketError) kind() string { return "bucket_error" }

func (bucketError) of(t tally) float64 { return t.(*Histogram).BucketError() }
func (b bucketError) forward(c *cell)  { c.value[0] = float32(b.of(c.countScores())) }
