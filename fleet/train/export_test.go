package train

// Die lets go of directories, as a process that is killed.
func (r *Run) Die() {
	r.publishing.Release()
	r.out.Release()
}

// PassOver is -pass_over.
func (c *Options) PassOver(day string) { c.passOver = day }

// Anew has a job know how another of it is made, as Main does.
func (j *Job) Anew(job func() (Job, error)) { j.anew = job }

// ErrOver is the end of a role that was started again behind the end of its job.
var ErrOver = errOver

// Looks has a job look at its rows before it trains, as Main does.
func (j *Job) Looks(looks bool) { j.looks = looks }

// Axis is the axis of values on which a line is drawn.
func Axis(values ...float32) (low, high float64) {
	l := series{name: "train"}
	for i, v := range values {
		l.points = append(l.points, point{float32(i), v})
	}
	_, y := panel{lines: []series{l}}.axes()
	return y.low, y.high
}
