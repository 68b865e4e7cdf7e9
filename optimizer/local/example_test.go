package local_test

import (
	"context"
	"fmt"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
)

// line is a hand-written objective: a weight and a bias fitted to y = 2x + 1.
type line struct {
	w, b    *optimizer.Param
	trainer optimizer.Trainer
}

func (l *line) Params() []*optimizer.Param { return []*optimizer.Param{l.w, l.b} }
func (l *line) Bind(t optimizer.Trainer)   { l.trainer = t }

func (l *line) gradient(x, y float32) {
	d := l.w.W[0]*x + l.b.W[0] - y
	l.w.G[0], l.b.G[0] = 2*d*x, 2*d
}

func ExampleMinimize() {
	scalar := func(name string) *optimizer.Param {
		return &optimizer.Param{Name: name, Shape: []int{1}, W: make([]float32, 1), G: make([]float32, 1)}
	}
	l, ctx := &line{w: scalar("w"), b: scalar("b")}, context.Background()
	if _, err := local.Minimize(l, optimizer.SGD{LR: 0.1}); err != nil {
		fmt.Println(err)
		return
	}
	session, _ := l.trainer.Open(l.Params())
	for i := range 200 {
		step := &optimizer.Step{Samples: 1}
		session.Begin(ctx, step)
		x := float32(i % 3)
		l.gradient(x, 2*x+1)
		session.End(ctx, step)
	}
	fmt.Printf("y = %.2fx + %.2f\n", l.w.W[0], l.b.W[0])
	// Output: y = 2.00x + 1.00
}
