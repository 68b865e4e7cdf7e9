// Command model trains README's net on a file of rows, with a mistake by -case.
package main

import (
	"flag"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
)

func main() {
	o := train.Options{Epochs: 3, Batch: 64, Out: "output/mist"}
	file := flag.String("data", "good.csv", "CSV file")
	test := flag.String("test", "", "test file")
	c := flag.String("case", "", "mistake")
	o.Parse()
	format := dataset.CSV{Schema: []dataset.CSVColumn{
		{Column: dataset.Floats("numbers", 2), Fields: []string{"age", "amount"}, Missing: "0"},
		{Column: dataset.Ints("names", 1), Fields: []string{"city"}, Hash: 1000},
		{Column: dataset.Floats("y")},
	}}
	switch *c {
	case "formatmissing":
		format.Missing = "0"
	case "leak":
		format.Schema[0] = dataset.CSVColumn{Column: dataset.Floats("numbers", 3), Fields: []string{"age", "amount", "y"}, Missing: "0"}
	case "id":
		format.Schema[1].Fields = []string{"id"}
	case "datecat":
		format.Schema[1].Fields = []string{"date"}
	case "datenum":
		format.Schema[0].Fields = []string{"age", "date"}
	case "agehash":
		format.Schema[1].Fields = []string{"amount"}
	case "hash3":
		format.Schema[1].Hash = 3
	case "intslabel":
		format.Schema[2] = dataset.CSVColumn{Column: dataset.Ints("y")}
	case "semicolon":
		format.Comma = ';'
	case "embedlabel":
		format.Schema[1].Fields = []string{"y"}
	case "multiline":
		format.Multiline = true
	}
	train.Main(&o, func() (train.Job, error) {
		g := nn.NewGraph(o.Seed)
		width := 2
		if *c == "leak" {
			width = 3
		}
		numbers, names := g.Input("numbers", width), g.IDs("names", 1)
		var y *nn.Node
		if *c == "intslabel" || *c == "softmax1" || *c == "acc1" || *c == "softmax2" || *c == "softmaxtwice" || *c == "ints2" {
			y = g.IDs("y", 1)
			format.Schema[2] = dataset.CSVColumn{Column: dataset.Ints("y")}
		} else {
			y = g.Input("y", 1)
		}
		height := 1000
		if *c == "bigheight" {
			height = 100
		}
		rows := nn.Embedding(names, nn.EmbeddingOptions{Height: height, Dim: 8})
		var x *nn.Node = nn.BatchNorm(numbers, nn.NormOptions{})
		if *c == "nonorm" {
			x = numbers
		}
		if *c == "log" {
			x = nn.Log(nn.Scale(numbers, 1, -30))
		}
		if *c == "sqrt" {
			x = nn.Sqrt(nn.BatchNorm(numbers, nn.NormOptions{}))
		}
		if *c == "div" {
			x = nn.Divide(numbers, nn.Scale(numbers, 1, -30))
		}
		hidden := nn.Linear(nn.Concat(rows, x), 32, nn.LinearOptions{Act: nn.ReLU})
		if *c == "drop1" {
			hidden = nn.Dropout(hidden, 1)
		}
		if *c == "drop90" {
			hidden = nn.Dropout(hidden, 0.9)
		}
		if *c == "deepsigmoid" {
			for range 12 {
				hidden = nn.Linear(hidden, 32, nn.LinearOptions{Act: nn.Sigmoid})
			}
		}
		if *c == "detach" {
			hidden = nn.Detach(hidden)
		}
		chance := nn.Linear(hidden, 1, nn.LinearOptions{Act: nn.Sigmoid}).Named("chance")
		j := train.Job{Options: o,
			Loss:    nn.Mean(nn.BinaryCrossEntropy(chance, y)),
			Rule:    optimizer.Adam{LR: o.Rate(1e-3)},
			Metrics: []*nn.Node{nn.AUC(chance, y)},
			Outputs: []*nn.Node{chance},
			Files:   train.Files{Format: format, Paths: []string{*file}},
		}
		if *test != "" {
			j.Files.Test = []string{*test}
		}
		logit := nn.Linear(hidden, 1, nn.LinearOptions{})
		switch *c {
		case "decay":
			j.Rule = optimizer.AdamW{LR: 1e-2, WeightDecay: 50}
		case "clipped": // a chance that never leaves the middle
			p := nn.Clip(chance, 0.5, 0.5)
			j.Loss, j.Metrics, j.Outputs = nn.Mean(nn.BinaryCrossEntropy(p, y)), []*nn.Node{nn.AUC(p, y)}, []*nn.Node{p}
		case "schedule0":
			j.Rule = optimizer.Adam{Schedule: lr.ExponentialDecay{LR: 1e-9, Gamma: 0.9}}
		case "aucdown":
			j.Metrics = []*nn.Node{nn.AUC(nn.Scale(chance, -1, 1), y).Named("auc")}
		case "nomean":
			j.Loss = nn.BinaryCrossEntropy(chance, y)
		case "heldout99":
			j.Files.HeldOut = 0.999
		case "heldout2":
			j.Files.HeldOut = 2
		case "lastby":
			j.Files.LastBy = "when"
		case "groupbylabel":
			j.Files.GroupBy = "y"
		case "softmax1": // softmax over one output
			j.Loss, j.Metrics, j.Outputs = nn.Mean(nn.SoftmaxWithCrossEntropy(logit, y)), []*nn.Node{nn.Accuracy(logit, y)}, []*nn.Node{logit}
		case "acc1": // accuracy of a sigmoid of width 1
			j.Metrics = []*nn.Node{nn.Accuracy(chance, y)}
		case "softmax2":
			p := nn.Linear(hidden, 2, nn.LinearOptions{Act: nn.Softmax})
			j.Loss, j.Metrics, j.Outputs = nn.Mean(nn.CrossEntropy(p, y)), []*nn.Node{nn.Accuracy(p, y)}, []*nn.Node{p}
		case "softmaxtwice":
			p := nn.Linear(hidden, 2, nn.LinearOptions{Act: nn.Softmax})
			j.Loss, j.Metrics, j.Outputs = nn.Mean(nn.SoftmaxWithCrossEntropy(p, y)), []*nn.Node{nn.Accuracy(p, y)}, []*nn.Node{p}
		case "sigmoidtwice":
			j.Loss = nn.Mean(nn.BinaryCrossEntropyWithLogits(chance, y))
		case "mse":
			j.Loss = nn.Mean(nn.SquareError(chance, y))
		case "minauc":
			j.Loss = nn.AUC(chance, y)
		case "negative":
			j.Loss = nn.Scale(j.Loss, -1, 0)
		case "relulast":
			p := nn.Linear(hidden, 1, nn.LinearOptions{Act: nn.ReLU})
			j.Loss, j.Metrics, j.Outputs = nn.Mean(nn.SquareError(p, y)), []*nn.Node{nn.AUC(p, y)}, []*nn.Node{p}
		case "hinge01": // hinge wants −1/1
			j.Loss, j.Metrics, j.Outputs = nn.Mean(nn.Hinge(logit, y)), []*nn.Node{nn.AUC(nn.Sigmoid(logit), y)}, []*nn.Node{logit}
		case "acc2":
			j.Metrics = []*nn.Node{nn.BinaryAccuracy(chance, y)}
		case "outlabel": // output needs the label
			j.Outputs = []*nn.Node{nn.Multiply(chance, y)}
		case "sumloss":
			j.Loss = nn.Scale(j.Loss, 1e4, 0)
		case "wzero":
			j.Loss = nn.WeightedMean(nn.BinaryCrossEntropy(chance, y), nn.Scale(y, 0, 0))
		case "wneg":
			j.Loss = nn.WeightedMean(nn.BinaryCrossEntropy(chance, y), nn.Scale(y, 2, -1))
		case "ndcg":
			j.Metrics = []*nn.Node{nn.NDCG(chance, y, 10)}
		case "r2label": // unscaled regression target, as it is
			p := nn.Linear(hidden, 1, nn.LinearOptions{})
			amount := nn.Slice(numbers, 1, 1, 2)
			j.Loss, j.Metrics, j.Outputs = nn.Mean(nn.SquareError(p, amount)), []*nn.Node{nn.RMSE(p, amount)}, []*nn.Node{p}
		case "otherouts":
			j.Outputs = []*nn.Node{nn.Linear(hidden, 1, nn.LinearOptions{Act: nn.Sigmoid})}
		case "noout":
			j.Outputs = nil
		case "two graphs":
			g2 := nn.NewGraph(2)
			j.Metrics = []*nn.Node{nn.AUC(chance, g2.Input("y", 1))}
		}
		return j, nil
	})
}
