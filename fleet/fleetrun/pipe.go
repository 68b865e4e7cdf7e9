package main

import (
	"io"
	"os"
	"time"
)

// pipe carries one stream of a role to a tee.
type pipe struct {
	r, w *os.File // w is the role's end
	to   *tee
	done chan struct{} // closed when r has been read to its end
}

func newPipe(to *tee) (*pipe, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &pipe{r: r, w: w, to: to}, nil
}

// start reads until no process holds the other end any more. The role must have been started.
func (p *pipe) start() {
	p.w.Close()
	p.done = make(chan struct{})
	go func() {
		defer close(p.done)
		io.Copy(p.to, p.r)
	}()
}

// drainTime is how long the output of a role that has ended is read if a process outside its group still holds the
// pipe. (On Windows, whose pipes have no deadline, it is read until that process ends too.)
const drainTime = time.Second

// close reads what is left.
func (p *pipe) close() {
	if p.done != nil {
		p.r.SetReadDeadline(time.Now().Add(drainTime))
		<-p.done
	}
	p.r.Close()
	p.w.Close()
	p.to.Close()
}
