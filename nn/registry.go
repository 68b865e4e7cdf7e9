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
	"relu":                             {decode[relu], 1, 1},
	"tanh":                             {decode[tanh], 1, 1},
	"sigmoid":                          {decode[sigmoid], 1, 1},
	"softmax":                          {decode[softmax], 1, 1},
	"leaky_relu":                       {decode[leakyReLU], 1, 1},
	"elu":                              {decode[elu], 1, 1},
	"gelu":                             {decode[gelu], 1, 1},
	"swish":                            {decode[swish], 1, 1},
	"softplus":                         {decode[softplus], 1, 1},
	"log":                              formulaOf("log"),
	"log1p":                            formulaOf("log1p"),
	"exp":                              formulaOf("exp"),
	"sqrt":                             formulaOf("sqrt"),
	"abs":                              formulaOf("abs"),
	"square":                           formulaOf("square"),
	"pow":                              {decode[pow], 1, 1},
	"prelu":                            {decode[prelu], 2, 2},
	"dice":                             {decode[dice], 6, 6},
	"pairs":                            {decode[pairs], 2, 2},
	"conv1d":                           {decode[sliding], 2, 3},
	"head_scores":                      {decode[headScores], 2, 2},
	"head_mix":                         {decode[headMix], 2, 2},
	"clip":                             {decode[clip], 1, 1},
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
	"square_error":                     {decode[squareError], 2, 2},
	"absolute_error":                   {decode[absoluteError], 2, 2},
	"smooth_l1":                        {decode[smoothL1], 2, 2},
	"binary_cross_entropy":             {decode[binaryCrossEntropy], 2, 2},
	"binary_cross_entropy_with_logits": {decode[binaryCrossEntropyWithLogits], 2, 2},
	"softmax_with_cross_entropy":       {decode[softmaxCrossEntropy], 2, 2},
	"focal_loss":                       {decode[focal], 2, 2},
	"hinge":                            {decode[hinge], 2, 2},
	"contrastive":                      {decode[contrastive], 2, 2},
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
	"log_loss":                         {decode[logLoss], 2, 2},
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
	"mae":                              {decode[mae], 2, 2},
	"mse":                              {decode[mse], 2, 2},
	"rmse":                             {decode[rmse], 2, 2},
	"accuracy":                         {decode[accuracy], 2, 2},
	"batch_accuracy":                   {decode[batchAccuracy], 2, 2},
	"precision":                        {decode[precision], 2, 2},
	"recall":                           {decode[recall], 2, 2},
	"binary_accuracy":                  {decode[binaryAccuracy], 2, 2},
	"nce":                              {decode[nce], 1, 2},
	"sampled_softmax":                  {decode[sampledSoftmax], 3, 3},
	"custom":                           {decodeCustom, 1, maxInputs},
}

const maxInputs = 1 << 20

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
