package job

import (
	"context"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// Binary is a model that tells two kinds of examples apart, clicked or not.
type Binary struct {
	Pred, Loss, AUC *nn.Node
}

// NewBinary makes one of a probability and a label, both of shape [N 1], that is trained by the log loss.
func NewBinary(pred, label *nn.Node) Binary {
	return Binary{Pred: pred, Loss: nn.Mean(nn.LogLoss(pred, label)), AUC: nn.AUC(pred, label)}
}

// Train is a whole program: it plays the process's role, trains on what load gives, and returns the AUC on the test rows; one
// worker prints it and saves the model.
func (b Binary) Train(ctx context.Context, f *fleet.Fleet, c Flags, rule optimizer.Rule,
	load func(ctx context.Context) (train, test *dataset.Dataset, err error), out io.Writer) (auc float64, err error) {
	s, err := c.Strategy()
	if err != nil {
		return 0, err
	}
	err = Training{b.Loss, rule, s, c.Load}.Play(ctx, f, func(ctx context.Context) error {
		train, test, err := load(ctx)
		if err != nil {
			return err
		}
		if err := f.BarrierWorker(ctx); err != nil { // all begin together, so that their rates are of the same time
			return err
		}
		rows := func(int) *dataset.Dataset { return train }
		if _, err := Epochs(ctx, f, b.Loss.Graph(), c, rows, out, b.AUC); err != nil {
			return err
		}
		if auc, err = Evaluate(ctx, f, b.AUC, test); err != nil {
			return err
		}
		if leads, err := Leads(ctx, f); err != nil || !leads {
			return err
		}
		fmt.Fprintf(out, "test AUC %.4f\n", auc)
		return Save(ctx, f, c.Out, out, b.Pred)
	})
	return auc, err
}
