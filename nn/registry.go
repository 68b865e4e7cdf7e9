package nn

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// recipe makes an op from its attributes in a saved graph, and has the number of its inputs.
type recipe struct {
	make     func(attrs json.RawMessage) (op, error)
	min, max int
}

// recipes are the ops that a saved graph may contain, by kind. Kinds are frozen: saved models use them.
var recipes = map[string]recipe{
	"input":                            {decode[feed], 0, 0},
	"linear":                           {decode[linear], 2, 3},
	"relu":                             activationOf("relu"),
	"tanh":                             activationOf("tanh"),
	"sigmoid":                          activationOf("sigmoid"),
	"softmax":                          {decode[softmax], 1, 1},
	"leaky_relu":                       functionOf("leaky_relu"),
	"elu":                              functionOf("elu"),
	"gelu":                             functionOf("gelu"),
	"swish":                            functionOf("swish"),
	"softplus":                         functionOf("softplus"),
	"log":                              functionOf("log"),
	"log1p":                            functionOf("log1p"),
	"exp":                              functionOf("exp"),
	"sqrt":                             functionOf("sqrt"),
	"abs":                              functionOf("abs"),
	"square":                           functionOf("square"),
	"pow":                              functionOf("pow"),
	"prelu":                            {decode[prelu], 2, 2},
	"dice":                             {decode[dice], 6, 6},
	"pairs":                            {decode[pairs], 2, 2},
	"conv1d":                           {decode[sliding], 2, 3},
	"head_scores":                      {decode[headScores], 2, 2},
	"head_mix":                         {decode[headMix], 2, 2},
	"clip":                             functionOf("clip"),
	"log_softmax":                      {decode[logSoftmax], 1, 1},
	"cast":                             {decode[cast], 1, 1},
	"concat":                           {decode[concat], 1, maxInputs},
	"slice":                            {decode[slice], 1, 1},
	"gather":                           {decode[gather], 2, 2},
	"transpose":                        {decode[transpose], 1, 1},
	"reshape":                          {decode[reshape], 1, 1},
	"add":                              {decode[add], 2, 2},
	"multiply":                         {decode[multiply], 2, 2},
	"divide":                           {decode[divide], 2, 2},
	"subtract":                         {decode[subtract], 2, 2},
	"expand":                           {decode[expand], 1, 1},
	"scale":                            {decode[scaled], 1, 1},
	"sum":                              {decode[sum], 1, 1},
	"max":                              {decode[maximum], 1, 1},
	"square_error":                     differenceOf("square_error"),
	"absolute_error":                   differenceOf("absolute_error"),
	"smooth_l1":                        differenceOf("smooth_l1"),
	"binary_cross_entropy":             labelledOf("binary_cross_entropy"),
	"binary_cross_entropy_with_logits": labelledOf("binary_cross_entropy_with_logits"),
	"softmax_with_cross_entropy":       {decode[softmaxCrossEntropy], 2, 2},
	"focal_loss":                       labelledOf("focal_loss"),
	"hinge":                            labelledOf("hinge"),
	"contrastive":                      labelledOf("contrastive"),
	"weighted_mean":                    {decode[weightedMean], 2, 2},
	"class_weights":                    {decode[classWeights], 1, 1},
	"in_batch_softmax":                 {decode[inBatchSoftmax], 2, 4},
	"embedding_sequence":               {decode[embeddingSequence], 2, 2},
	"sequence_mask":                    {decode[sequenceMask], 1, 1},
	"sequence_pool":                    {decode[sequencePool], 1, 2},
	"measure":                          {decode[measure], 2, 3},
	"matmul":                           {decode[matmul], 2, 2},
	"batch_matmul":                     {decode[batchMatMul], 2, 2},
	"masked_softmax":                   {decode[maskedSoftmax], 1, 2},
	"gru":                              {decode[gru], 3, 4},
	"lstm":                             {decode[lstm], 3, 4},
	"mean":                             {decode[mean], 1, 1},
	"log_loss":                         labelledOf("log_loss"),
	"cross_entropy":                    {decode[crossEntropy], 2, 2},
	"embedding":                        {decode[embedding], 2, 2},
	"layer_norm":                       {decode[layerNorm], 1, 3},
	"cosine_similarity":                {decode[cosine], 2, 2},
	"dot":                              {decode[dot], 2, 2},
	"detach":                           {decode[detach], 1, 1},
	"dropout":                          {decode[dropout], 1, 1},
	"batch_norm":                       {decode[batchNorm], 5, 5},
	"conv2d":                           {decode[conv2d], 2, 3},
	"max_pool2d":                       {decode[maxPool], 1, 1},
	"avg_pool2d":                       {decode[avgPool], 1, 1},
	"embedding_pool":                   {decode[embeddingPool], 2, 3},
	"auc":                              {decode[auc], 2, 2},
	"batch_auc":                        {decode[batchAUC], 2, 2},
	"sliding_auc":                      {decode[slidingAUC], 2, 2},
	"bucket_error":                     {decode[bucketError], 2, 2},
	"mae":                              bare(meanError{"mae"}, 2),
	"mse":                              bare(meanError{"mse"}, 2),
	"rmse":                             bare(meanError{"rmse"}, 2),
	"accuracy":                         {decode[accuracy], 2, 2},
	"batch_accuracy":                   {decode[batchAccuracy], 2, 2},
	"precision":                        bare(found{"precision"}, 2),
	"recall":                           bare(found{"recall"}, 2),
	"binary_accuracy":                  bare(found{"binary_accuracy"}, 2),
	"nce":                              {decode[nce], 1, 2},
	"sampled_softmax":                  {decode[sampledSoftmax], 3, 3},
	"custom":                           {decodeCustom, 1, maxInputs},
}

const maxInputs = 1 << 20

// bare is the recipe of an op without attributes.
func bare(o op, inputs int) recipe {
	return recipe{func(attrs json.RawMessage) (op, error) {
		if len(attrs) > 0 {
			return nil, fmt.Errorf("attributes %s: it has none", attrs)
		}
		return o, nil
	}, inputs, inputs}
}

func activationOf(name string) recipe {
	return functions.recipe(name, 1, func(f formula) op { return activation{function{formula: f}} })
}

func functionOf(name string) recipe {
	return functions.recipe(name, 1, func(f formula) op { return function{formula: f} })
}

func differenceOf(name string) recipe {
	return differences.recipe(name, 2, func(f formula) op { return difference{f} })
}

func labelledOf(name string) recipe {
	return labelFormulas.recipe(name, 2, func(f formula) op { return labelled{f} })
}

func decode[T op](attrs json.RawMessage) (op, error) {
	var o T
	if len(attrs) == 0 {
		return o, nil
	}
	d := json.NewDecoder(bytes.NewReader(attrs))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("attributes: %w", err)
	}
	return o, nil
}
