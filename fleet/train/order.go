package train

import (
	"fmt"
	"log/slog"
)

func (s *shares) order() order {
	j := s.job
	return order{Seed: j.Seed, Batch: j.Batch, Epochs: j.Epochs, Patience: j.Patience, Rows: max(0, s.stock.Rows),
		Digest: s.stock.Digest}
}

// warnOrder warns that the job goes on in the middle of an epoch in another order.
func (s *shares) warnOrder(epoch int) {
	at := s.fleet.Position()
	if s.then == nil || epoch >= s.job.Epochs || at.Epoch != epoch || at.Samples == 0 {
		return
	}
	then, now := *s.then, s.order()
	if then.Seed != now.Seed {
		fmt.Fprintf(s.job.Stdout, "warning: the checkpoint was saved with -seed=%d, and this job has -seed=%d: the "+
			"rest of epoch %d comes in another order, so that some of its examples count twice and others not at all; "+
			"with -seed=%d each counts once\n", then.Seed, now.Seed, epoch+1, then.Seed)
	}
	if then.Rows != now.Rows && then.Rows > 0 && now.Rows > 0 {
		fmt.Fprintf(s.job.Stdout, "warning: the checkpoint was saved with %d training rows, and this job has %d: as "+
			"many rows of epoch %d are passed over as were trained of the others, so that some examples count twice "+
			"and others not at all; with the same rows each counts once\n", then.Rows, now.Rows, epoch+1)
	}
	if then.Batch != now.Batch && s.job.Threads > 1 {
		fmt.Fprintf(s.job.Stdout, "warning: the checkpoint was saved with -batch=%d, and this job has -batch=%d: in "+
			"epoch %d up to %d examples of each thread count twice; with -batch=%d, or -threads=1, each counts once\n",
			then.Batch, now.Batch, epoch+1, now.Batch-1, then.Batch)
	}
	if then.Digest != now.Digest && then.Digest != "" && now.Digest != "" && then.Rows == now.Rows {
		fmt.Fprintf(s.job.Stdout, "warning: the checkpoint was saved with other training rows, as many as this job "+
			"has (%d): the rest of epoch %d is of the new rows alone, so that some examples are never trained on\n",
			now.Rows, epoch+1)
	}
}

// stoppedAt describes where a job was stopped, after a number of its epochs.
func (p *past) stoppedAt(ended, of int) string {
	epoch := fmt.Sprintf("epoch %d/%d", min(ended, of), of)
	if p.partly.Trained < p.partly.Rows {
		return fmt.Sprintf("in the middle of %s, after %s of its %s examples", epoch, grouped(p.partly.Trained),
			grouped(p.partly.Rows))
	}
	return "after " + epoch
}

// warnBatch warns once that a batch is larger than the training data.
func (s *shares) warnBatch() {
	if mine := s.mine / s.job.Threads; !s.small && mine > 0 && mine < s.job.Batch {
		s.small = true
		slog.Warn("train: a batch is larger than what there is to train on, so that an epoch is one step: a smaller "+
			"-batch makes more", "batch", s.job.Batch, "examples of a worker and thread", mine)
	}
}

// grouped writes 1234567 as 1,234,567, as the progress does.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
